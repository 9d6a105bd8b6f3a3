#include "api/openai/transcriptions.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/openai/common.h"
#include "service/senses.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kFields[] = {
    Field{"file", Kind::kText, "The sound: WAV, MP3, FLAC or Ogg Vorbis."}.needed(),
    {"model", Kind::kText, "A name of the model."},
    {"language", Kind::kText, "What is spoken; the model is told."},
    {"prompt", Kind::kText, "What the model is asked, in place of to transcribe."},
    Field{"response_format", Kind::kText, "How the text comes; there are no times to give."}
        .one_of("json|text")
        .or_else("\"json\""),
    {"temperature", Kind::kText, "How freely tokens are drawn, from 0 to 2; 0 = greedy."},
    {"max_tokens", Kind::kText, "Tokens of the text at most."},
    Field{"stream", Kind::kText, "The text comes in pieces, as it is written."}
        .one_of("true|false|1|0")
        .or_else("\"false\""),
    passed_over("chunking_strategy", "A sound is heard in windows of 30 seconds."),
    passed_over("include[]", "There are no probabilities."),
    refused("timestamp_granularities[]", "the model tells no times."),
    refused("known_speaker_names[]", "the model tells no speakers."),
    refused("known_speaker_references[]", "the model tells no speakers."),
};

// A field of a form as a number, written as in JSON. Errors: kInvalidArgument naming it.
Result<std::optional<double>> number(const Body& body, std::string_view name, double least,
                                     double most, bool whole) {
  const auto text = body.text(name);
  if (!text || text->empty()) return std::nullopt;
  const auto value = Json::parse(*text);
  if (!value || !value->is_number() || (whole && !value->is_integer()) || value->number() < least ||
      value->number() > most) {
    return refuse_field(
        name, *text, fmt::format("a {}number from {} to {}", whole ? "whole " : "", least, most));
  }
  return std::optional(value->number());
}

Json usage(const engine::GenerateStats& stats) {
  const uint32_t n_prompt = stats.n_prompt + stats.n_cached;
  Json out = Json::object();
  out.set("type", "tokens").set("input_tokens", n_prompt);
  out.set("output_tokens", stats.n_generated).set("total_tokens", n_prompt + stats.n_generated);
  return out.set("input_token_details", Json::object().set("cached_tokens", stats.n_cached));
}

class TranscriptionWriter final : public Writer {
 public:
  explicit TranscriptionWriter(bool plain) : plain_(plain) {}

  std::string next(size_t, const Event& event) override {
    if (event.prompt || event.text.empty() || event.kind != Event::Kind::kContent) return {};
    return frame(Json::object().set("type", "transcript.text.delta").set("delta", event.text));
  }
  std::string end(size_t, const Reply& reply) override { return frame(done(reply)); }
  std::string finish() override { return {}; }
  std::string fail(const base::Error& error) override {
    return sse(error_body(Dialect::kOpenAi, error));
  }
  HttpReply whole(std::vector<Reply> replies) override {
    if (!plain_) return HttpReply::json(done(replies.front()));
    return {.content_type = "text/plain; charset=utf-8", .body = replies.front().text};
  }

 private:
  static std::string frame(const Json& json) { return sse(json); }
  static Json done(const Reply& reply) {
    Json out = Json::object().set("type", "transcript.text.done").set("text", reply.text);
    return out.set("usage", usage(reply.stats));
  }

  const bool plain_;
};

}  // namespace

std::span<const Field> transcription_fields() { return kFields; }

Result<Exchange> transcriptions(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kFields}));
  const auto sound = body.text("file");
  if (!sound) return refuse_field("file", Json(), "a sound");
  if (!model.senses || !model.senses->has(models::Sense::kSounds)) {
    const std::string why = fmt::format("The model {} does not hear.", call.model->id);
    return HttpReply::json(error_body(Dialect::kOpenAi, 501, why), 501);
  }
  service::Request request = model.defaults.request;
  PUNA_TRY(const auto temperature, number(body, "temperature", 0, 2, /*whole=*/false));
  PUNA_TRY(const auto max_tokens, number(body, "max_tokens", 0, UINT32_MAX, /*whole=*/true));
  request.sampling.temperature = static_cast<float>(temperature.value_or(0));
  if (max_tokens) request.max_tokens = static_cast<uint32_t>(*max_tokens);
  // Models that were trained to talk about sounds are asked as llama.cpp's server asks them.
  std::string text = body.text("prompt").value_or("");
  if (text.empty()) text = "Transcribe audio to text";
  if (const auto language = body.text("language"); language && !language->empty())
    text += fmt::format(" (language: {})", *language);
  const auto bytes = std::as_bytes(std::span(*sound));
  request.media.push_back({.file = std::make_shared<const service::MediaFile>(
                               service::MediaFile{.name = "the sound in \"file\"",
                                                  .sense = models::Sense::kSounds,
                                                  .bytes = {bytes.begin(), bytes.end()}})});
  if (model.chat_template) {
    request.messages.push_back({.role = "user", .content = std::move(text)});
  } else {
    request.prompt = std::move(text);
  }
  Texts out;
  const std::string stream = body.text("stream").value_or("false");
  out.stream = stream == "true" || stream == "1";
  out.requests.push_back(std::move(request));
  out.writer = std::make_unique<TranscriptionWriter>(body.text("response_format") == "text");
  return Exchange(std::move(out));
}

}  // namespace puna::api::openai
