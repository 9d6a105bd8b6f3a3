#include "api/openai/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "api/build_info.h"

namespace puna::api::openai {

using base::Json;
using service::Reply;

Json Head::around(std::string_view object, Json choices) const {
  Json out = Json::object();
  out.set("id", id).set("object", object).set("created", created).set("model", model);
  return out.set("system_fingerprint", build_info()).set("choices", std::move(choices));
}

std::string new_digits() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

Head new_head(std::string_view prefix, std::string model) {
  return {fmt::format("{}-{}", prefix, new_digits()), std::move(model),
          static_cast<int64_t>(std::time(nullptr))};
}

Json usage_json(const engine::GenerateStats& stats) {
  const uint32_t n_prompt = stats.prompt_tokens();
  Json out = Json::object();
  out.set("prompt_tokens", n_prompt).set("completion_tokens", stats.n_generated);
  out.set("total_tokens", n_prompt + stats.n_generated);
  return out.set("prompt_tokens_details", Json::object().set("cached_tokens", stats.n_cached));
}

Json timings_json(const engine::GenerateStats& stats) {
  const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
  const uint32_t n_decoded = stats.n_generated > 0 ? stats.n_generated - 1 : 0;
  Json out = Json::object();
  out.set("cache_n", stats.n_cached).set("prompt_n", stats.n_prompt);
  out.set("prompt_ms", stats.prompt_ms);
  out.set("prompt_per_token_ms", ratio(stats.prompt_ms, stats.n_prompt));
  out.set("prompt_per_second", ratio(stats.n_prompt * 1000.0, stats.prompt_ms));
  out.set("predicted_n", stats.n_generated).set("predicted_ms", stats.decode_ms);
  out.set("predicted_per_token_ms", ratio(stats.decode_ms, n_decoded));
  return out.set("predicted_per_second", ratio(n_decoded * 1000.0, stats.decode_ms));
}

bool is_cut(const Reply& reply) {
  return reply.stats.stop == engine::StopReason::kLength ||
         reply.stats.stop == engine::StopReason::kContext;
}

std::string_view finish_reason(const Reply& reply) {
  if (is_cut(reply)) return "length";  // perhaps in the midst of a further call
  return reply.parsed.tool_calls.empty() ? "stop" : "tool_calls";
}

void Totals::add(size_t text, const engine::GenerateStats& stats) {
  if (text % n_answers_ == 0) {
    stats_.n_prompt += stats.n_prompt;
    stats_.n_cached += stats.n_cached;
    stats_.n_unread += stats.n_unread;
  }
  stats_.n_generated += stats.n_generated;
  stats_.prompt_ms = std::max(stats_.prompt_ms, stats.prompt_ms);
  stats_.decode_ms = std::max(stats_.decode_ms, stats.decode_ms);
}

void CompletionWriter::set_prompt(size_t text, const service::Prepared& prepared) {
  if (!verbose_) return;
  llama::WrittenText::Form form{
      .index = text, .model = head_.model, .stream = stream_, .tokenizer = tokenizer_};
  written_.try_emplace(text, std::move(form), prepared.prompt.tokens(), prepared.request);
}

void CompletionWriter::set_slot(size_t text, uint32_t slot) {
  if (const auto found = written_.find(text); found != written_.end()) found->second.set_slot(slot);
}

void CompletionWriter::set_written(Json& out, size_t text, const Reply& reply) const {
  const auto found = written_.find(text);
  if (found != written_.end()) out.set("__verbose", found->second.json(reply));
}

std::string CompletionWriter::end_frame(size_t text, Json chunk, const Reply& reply) {
  totals_.add(text, reply.stats);
  object_ = chunk.find("object")->string();
  if (!include_usage_) chunk.set("timings", timings_json(reply.stats));
  set_written(chunk, text, reply);
  return sse(chunk);
}

std::string CompletionWriter::finish() {
  std::string done = "data: [DONE]\n\n";
  if (!include_usage_) return done;
  Json last = head_.around(object_, Json::array());
  last.set("usage", usage_json(totals_.stats())).set("timings", timings_json(totals_.stats()));
  return sse(last) + done;
}

std::string CompletionWriter::fail(const base::Error& error) {
  return sse(error_body(Dialect::kOpenAi, error));
}

HttpReply CompletionWriter::answer(std::string_view object, Json choices,
                                   const std::vector<Reply>& replies) {
  for (size_t i = 0; i < replies.size(); ++i) totals_.add(i, replies[i].stats);
  Json out = head_.around(object, std::move(choices));
  out.set("usage", usage_json(totals_.stats())).set("timings", timings_json(totals_.stats()));
  // There is one place for all of them.
  set_written(out, 0, replies.front());
  return HttpReply::json(out);
}

}  // namespace puna::api::openai
