// Embeddings as endpoints give them: what is asked of a model, and how rows are scaled and written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "api/prompts.h"

namespace puna::api {

constexpr size_t kMaxInputs = 2048;  // texts of one request

// Why a model gives none, as a reply of status 501 in the dialect; none: it does.
std::optional<HttpReply> no_embeddings(Dialect dialect, const service::LoadedModel& model);

// Errors: kInvalidArgument for a model that gives something else than one row for each text.
base::Result<void> check_pooling(const service::LoadedModel& model);

struct Inputs {
  std::vector<std::vector<int32_t>> tokens;
  uint64_t n_tokens = 0;
};
// The ids of all prompts. Errors: those of tokens_of().
base::Result<Inputs> inputs_of(const Prompts& prompts, const service::LoadedModel& model);

// By which norm a row is divided: -1: none; 0: so that the largest value is 32760; 2: Euclid's;
// others: the p-norm. A row of zeros stays.
void normalize(std::span<float> row, int norm);

enum class Encoding : uint8_t { kFloat, kBase64 };
// {object: "embedding", index, embedding}: a list of numbers, or base64 of little-endian floats.
base::Json embedding_json(size_t index, std::span<const float> row, Encoding encoding);

// Standard base64 with padding (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace puna::api
