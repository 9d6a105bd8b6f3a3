// The fields about answers that endpoints of OpenAI's and llama.cpp's dialects share, beside those
// of sampling: how many, how long, where they end, how they are sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "api/exchange.h"
#include "api/fields.h"
#include "api/reports.h"
#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::api {

constexpr uint32_t kMaxAnswers = 16;   // of one prompt
constexpr uint32_t kMaxPrompts = 256;  // of one request
constexpr uint32_t kMostSlots = 256;   // of any server
constexpr size_t kMaxStops = 64;       // texts that end an answer
constexpr size_t kMaxStopBytes = 512;  // of one

// A row that is refused, with the reason, unless it asks for nothing; and one without effect.
constexpr Field refused(std::string_view name, std::string_view why,
                        std::string_view harmless = {}) {
  return {.name = name, .about = why, .effect = Field::Effect::kRefused, .harmless = harmless};
}
constexpr Field passed_over(std::string_view name, std::string_view about) {
  return {.name = name, .about = about, .effect = Field::Effect::kNone};
}
// kUnsupported: a field that may be there, with a value that cannot be served.
std::unexpected<base::Error> cannot(std::string_view field, std::string_view why);

// kInvalidArgument naming the field, where there are too many, or one is empty or too long.
base::Result<void> check_stops(std::string_view field, const std::vector<std::string>& stops);

// A number as fields and flags have it, where those below 0 stand for none.
constexpr std::optional<uint32_t> number_or_none(int64_t n) {
  if (n < 0) return {};
  return static_cast<uint32_t>(n);
}

// The texts that end an answer; those of the server where a request has none. Errors: those of
// check_stops().
base::Result<std::vector<std::string>> read_stops(std::string_view field, const Body& body,
                                                  const service::LoadedModel& model);

// To be read with sampling_fields().
std::span<const Field> answer_fields();

struct AnswerFields {
  service::Request request;  // sampling, length and ends; what is answered is not in it
  uint32_t n = 1;            // answers to each prompt
  bool stream = false;
  Reports reports;
  std::optional<int> ping_seconds;  // these as Texts has them
  std::optional<uint32_t> slot;
};
// What is to be answered so, as yet without requests and writer.
Texts texts_of(const AnswerFields& answer);
// Errors: those of the fields; kUnsupported for a model that was loaded for embeddings.
base::Result<AnswerFields> read_answer_fields(const Body& body, const service::LoadedModel& model);

// n requests of each, beside each other. The first has the seed that was given, the others seeds
// made of it and their number.
std::vector<service::Request> repeated(std::vector<service::Request> requests, uint32_t n);

}  // namespace puna::api
