#include "api/openai/transcript_forms.h"

#include <fmt/format.h>

#include <cmath>

namespace puna::api::openai {

using base::Json;

namespace {

constexpr double kPartSeconds = 30;  // what encoders of speech hear at once
constexpr double kLeastSeconds = 1;
constexpr int64_t kFramesPerSecond = 100;  // as "seek" counts

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

// As it was written where there is one part.
std::string whole_text(const Transcript& transcript) {
  if (transcript.parts.size() == 1) return transcript.parts.front().reply.text;
  std::string out;
  for (const HeardPart& part : transcript.parts) {
    const std::string_view text = trimmed(part.reply.text);
    if (!out.empty() && !text.empty()) out += ' ';
    out += text;
  }
  return out;
}

Json usage(const Transcript& transcript) {
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  for (const HeardPart& part : transcript.parts) {
    n_prompt += part.reply.stats.prompt_tokens();
    n_cached += part.reply.stats.n_cached;
    n_generated += part.reply.stats.n_generated;
  }
  Json out = Json::object();
  out.set("type", "tokens").set("input_tokens", n_prompt);
  out.set("output_tokens", n_generated).set("total_tokens", n_prompt + n_generated);
  return out.set("input_token_details", Json::object().set("cached_tokens", n_cached));
}

// Null where no probabilities came.
Json mean_logprob(const service::Reply& reply) {
  double sum = 0;
  size_t n = 0;
  for (const kernels::Chosen& chosen : reply.chosen) {
    if (!chosen.logprob) continue;
    sum += *chosen.logprob;
    ++n;
  }
  return n == 0 ? Json() : Json(sum / static_cast<double>(n));
}

Json segment(const Transcript& transcript, size_t i) {
  const HeardPart& part = transcript.parts[i];
  Json tokens = Json::array();
  for (const int32_t token : part.reply.tokens) tokens.push(token);
  Json out = Json::object();
  out.set("id", static_cast<int64_t>(i)).set("seek", std::llround(part.from * kFramesPerSecond));
  out.set("start", part.from).set("end", part.to).set("text", part.reply.text);
  out.set("tokens", std::move(tokens)).set("temperature", transcript.temperature);
  // Of speech and silence a model that answers says nothing, and a text is not compressed for it.
  out.set("avg_logprob", mean_logprob(part.reply)).set("compression_ratio", Json());
  return out.set("no_speech_prob", Json());
}

HttpReply as_json(const Transcript& transcript) {
  return HttpReply::json(transcript_done(transcript));
}

HttpReply plain(std::string body, std::string_view type = "text/plain; charset=utf-8") {
  return {.content_type = std::string(type), .body = std::move(body)};
}

HttpReply as_text(const Transcript& transcript) { return plain(whole_text(transcript)); }

HttpReply as_verbose_json(const Transcript& transcript) {
  Json segments = Json::array();
  for (size_t i = 0; i < transcript.parts.size(); ++i) segments.push(segment(transcript, i));
  const double seconds = transcript.parts.back().to;
  Json out = Json::object();
  out.set("task", "transcribe");
  out.set("language", transcript.language ? Json(*transcript.language) : Json());
  out.set("duration", seconds).set("text", whole_text(transcript));
  out.set("segments", std::move(segments));
  return HttpReply::json(out.set("usage", usage(transcript)));
}

std::string time_text(double seconds, char point) {
  const int64_t ms = std::llround(seconds * 1000);
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", ms / 3600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     point, ms % 1000);
}

// The text of a cue: a line without anything in it would end the cue.
std::string cue_text(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool ends_line = c == '\n' || c == '\r';
    if (!ends_line) out += c;
    if (ends_line && !out.ends_with('\n')) out += '\n';
  }
  return out;
}

// "-->" may not stand in a cue, and these begin what is no text.
std::string vtt_text(std::string_view text) {
  std::string out;
  for (const char c : cue_text(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

HttpReply as_srt(const Transcript& transcript) {
  std::string out;
  for (size_t i = 0; i < transcript.parts.size(); ++i) {
    const HeardPart& part = transcript.parts[i];
    out += fmt::format("{}\n{} --> {}\n{}\n\n", i + 1, time_text(part.from, ','),
                       time_text(part.to, ','), cue_text(part.reply.text));
  }
  return plain(std::move(out));
}

HttpReply as_vtt(const Transcript& transcript) {
  std::string out = "WEBVTT\n\n";
  for (const HeardPart& part : transcript.parts) {
    out += fmt::format("{} --> {}\n{}\n\n", time_text(part.from, '.'), time_text(part.to, '.'),
                       vtt_text(part.reply.text));
  }
  return plain(std::move(out), "text/vtt; charset=utf-8");
}

constexpr TranscriptForm kForms[] = {
    {"json", /*timed=*/false, as_json},
    {"text", /*timed=*/false, as_text},
    {"verbose_json", /*timed=*/true, as_verbose_json},
    {"srt", /*timed=*/true, as_srt},
    {"vtt", /*timed=*/true, as_vtt},
};

}  // namespace

std::span<const TranscriptForm> transcript_forms() { return kForms; }

Json transcript_done(const Transcript& transcript) {
  Json out = Json::object();
  out.set("type", "transcript.text.done").set("text", whole_text(transcript));
  return out.set("usage", usage(transcript));
}

std::vector<double> part_begins(double seconds) {
  std::vector<double> out{0};
  for (double at = kPartSeconds; seconds - at >= kLeastSeconds; at += kPartSeconds)
    out.push_back(at);
  return out;
}

}  // namespace puna::api::openai
