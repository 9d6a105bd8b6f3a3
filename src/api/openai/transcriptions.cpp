#include "api/openai/transcriptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/openai/common.h"
#include "api/openai/transcript_forms.h"
#include "media/sound.h"
#include "media/wav.h"
#include "service/senses.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::Event;
using service::MediaFile;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kTranscriptionsFields[] = {
    Field{"file", Kind::kText, "The sound: WAV, MP3, FLAC or Ogg Vorbis."}.needed(),
    {"model", Kind::kText, "A name of the model."},
    {"language", Kind::kText, "What is spoken; the model is told."},
    {"prompt", Kind::kText, "What the model is asked, in place of to transcribe."},
    Field{"response_format", Kind::kText,
          "How the text comes. `verbose_json`, `srt` and `vtt` have times: the model hears 30 "
          "seconds at a time and tells each apart."}
        .one_of("json|text|verbose_json|srt|vtt")
        .or_else("\"json\""),
    {"temperature", Kind::kText, "How freely tokens are drawn, from 0 to 2; 0 = greedy."},
    {"max_tokens", Kind::kText, "Tokens of the text at most."},
    Field{"stream", Kind::kText,
          "The text comes in pieces, as it is written; where there are no times."}
        .one_of("true|false|1|0")
        .or_else("\"false\""),
    passed_over("chunking_strategy", "A sound is heard in windows of 30 seconds."),
    passed_over("include[]", "There are no probabilities."),
    Field{"timestamp_granularities[]", Kind::kTexts,
          "`segment`, for `verbose_json`: a segment is what is heard at a time. A model tells no "
          "times of words."},
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

class TranscriptionWriter final : public Writer {
 public:
  // `heard` has the parts, without what is said in them.
  TranscriptionWriter(const TranscriptForm& form, Transcript heard)
      : form_(form), heard_(std::move(heard)) {}

  std::string next(size_t, const Event& event) override {
    if (event.prompt || event.text.empty() || event.kind != Event::Kind::kContent) return {};
    return sse(Json::object().set("type", "transcript.text.delta").set("delta", event.text));
  }
  std::string end(size_t part, const Reply& reply) override {
    heard_.parts[part].reply = reply;
    return sse(transcript_done(heard_));
  }
  std::string finish() override { return {}; }
  std::string fail(const base::Error& error) override {
    return sse(error_body(Dialect::kOpenAi, error));
  }
  HttpReply whole(std::vector<Reply> replies) override {
    for (size_t i = 0; i < replies.size(); ++i) heard_.parts[i].reply = std::move(replies[i]);
    return form_.write(heard_);
  }

 private:
  const TranscriptForm& form_;
  Transcript heard_;
};

Result<const TranscriptForm*> read_form(const Body& body, bool stream) {
  const auto forms = transcript_forms();
  const std::string name = body.text("response_format").value_or(std::string(forms.front().name));
  const TranscriptForm* const form = &*std::ranges::find(forms, name, &TranscriptForm::name);
  if (stream && form->timed) {
    return cannot("stream",
                  fmt::format("the form \"{}\" is written once all has been heard", name));
  }
  for (const std::string& each : body.texts("timestamp_granularities[]")) {
    if (each == "word") return cannot("timestamp_granularities[]", "no model tells times of words");
    if (each != "segment" || name != "verbose_json") {
      return refuse_field("timestamp_granularities[]", each,
                          "\"segment\", with the response_format \"verbose_json\"");
    }
  }
  return form;
}

std::shared_ptr<const MediaFile> sound_file(std::vector<std::byte> bytes) {
  return std::make_shared<const MediaFile>(MediaFile{
      .name = "the sound in \"file\"", .sense = models::Sense::kSounds, .bytes = std::move(bytes)});
}

struct Heard {
  std::vector<HeardPart> parts;
  std::vector<std::shared_ptr<const MediaFile>> files;  // of the parts
};

// The file as it is; or, where its times are asked for, cut into parts that are told apart.
Result<Heard> parts_of(std::string_view file, bool timed) {
  const auto bytes = std::as_bytes(std::span(file));
  Heard out;
  if (!timed) {
    out.parts.emplace_back();
    out.files.push_back(sound_file({bytes.begin(), bytes.end()}));
    return out;
  }
  PUNA_TRY_CONTEXT(const media::Sound sound, media::decode_sound(bytes),
                   "While reading the sound in \"file\"");
  const std::span<const float> samples = sound.samples;
  const double seconds = static_cast<double>(samples.size()) / media::kSampleRate;
  const std::vector<double> begins = part_begins(seconds);
  for (size_t i = 0; i < begins.size(); ++i) {
    const double to = i + 1 < begins.size() ? begins[i + 1] : seconds;
    const auto first = static_cast<size_t>(begins[i] * media::kSampleRate);
    const size_t last =
        i + 1 < begins.size() ? static_cast<size_t>(to * media::kSampleRate) : samples.size();
    out.parts.push_back({.from = begins[i], .to = to, .reply = {}});
    out.files.push_back(sound_file(media::wav_file(samples.subspan(first, last - first))));
  }
  return out;
}

}  // namespace

std::span<const Field> transcription_fields() { return kTranscriptionsFields; }

Result<Exchange> transcriptions(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kTranscriptionsFields}));
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
  Transcript transcript{
      .parts = {}, .language = body.text("language"), .temperature = request.sampling.temperature};
  if (transcript.language && transcript.language->empty()) transcript.language.reset();
  if (transcript.language) text += fmt::format(" (language: {})", *transcript.language);
  if (model.chat_template) {
    request.messages.push_back({.role = "user", .content = std::move(text)});
  } else {
    request.prompt = std::move(text);
  }
  Texts out;
  const std::string stream = body.text("stream").value_or("false");
  out.stream = stream == "true" || stream == "1";
  PUNA_TRY(const TranscriptForm* const form, read_form(body, out.stream));
  if (form->timed) request.sampling.n_probs = 1;
  PUNA_TRY(Heard heard, parts_of(*sound, form->timed));
  for (auto& file : heard.files) {
    out.requests.push_back(request);
    out.requests.back().media.push_back({.file = std::move(file)});
  }
  transcript.parts = std::move(heard.parts);
  out.writer = std::make_unique<TranscriptionWriter>(*form, std::move(transcript));
  return Exchange(std::move(out));
}

}  // namespace puna::api::openai
