#include "api/ollama/writer.h"

#include <fmt/format.h>

#include "api/ollama/time.h"
#include "api/probabilities.h"

namespace puna::api::ollama {

using base::Json;
using service::Reply;

namespace {

constexpr const char* kTruncatedHeader = "X-Puna-Truncated";

std::string_view done_reason(const Reply& reply) {
  using engine::StopReason;
  const StopReason stop = reply.stats.stop;
  return stop == StopReason::kLength || stop == StopReason::kContext ? "length" : "stop";
}

Json head_of(std::string_view model) {
  return Json::object().set("model", model).set("created_at", now());
}

void add_members(Json& to, const Json& from) {
  for (const auto& [name, value] : from.members()) to.set(name, value);
}

}  // namespace

LineWriter::LineWriter(const Asked& asked, uint32_t n_truncated, const service::LoadedModel& model)
    : model_(asked.model),
      top_logprobs_(asked.top_logprobs),
      n_truncated_(n_truncated),
      tokenizer_(model.tokenizer.get()),
      load_ms_(asked.load_ms) {}

std::vector<std::pair<std::string, std::string>> LineWriter::headers() const {
  if (n_truncated_ == 0) return {};
  return {{kTruncatedHeader, fmt::to_string(n_truncated_)}};
}

std::string LineWriter::fail(const base::Error& error) {
  return ndjson(error_body(Dialect::kOllama, error));
}

Json LineWriter::head() const { return head_of(model_); }

void LineWriter::note(const service::Event& event) {
  if (!top_logprobs_) return;
  if (auto chosen = chosen_of(event)) chosen_.push_back(*std::move(chosen));
}

Json LineWriter::probabilities() const {
  Json out = Json::array();
  for (const kernels::Chosen& each : chosen_)
    out.push(chosen_json(tokenizer_, each, *top_logprobs_));
  return out;
}

Json LineWriter::piece(Json out) {
  out.set("done", false);
  if (!chosen_.empty()) out.set("logprobs", probabilities());
  chosen_.clear();
  return out;
}

Json LineWriter::last(Json out, const Reply& reply) const {
  const engine::GenerateStats& stats = reply.stats;
  out.set("done", true).set("done_reason", done_reason(reply));
  if (!chosen_.empty()) out.set("logprobs", probabilities());
  out.set("total_duration", ns_of(load_ms_ + timer_.ms())).set("load_duration", ns_of(load_ms_));
  out.set("prompt_eval_count", stats.prompt_tokens());
  out.set("prompt_eval_duration", ns_of(stats.prompt_ms));
  out.set("eval_count", stats.n_generated).set("eval_duration", ns_of(stats.decode_ms));
  if (n_truncated_ > 0) out.set("truncated_tokens", n_truncated_);
  return out;
}

HttpReply LineWriter::answer(Json out, const Reply& reply) {
  if (top_logprobs_) chosen_ = reply.chosen;
  HttpReply http = HttpReply::json(last(std::move(out), reply));
  http.headers = headers();
  return http;
}

HttpReply loaded_reply(const Asked& asked, const Json& rest) {
  Json out = head_of(asked.model);
  add_members(out, rest);
  out.set("done", true).set("done_reason", asked.unload ? "unload" : "load");
  if (!asked.stream) return HttpReply::json(out);
  return {200, "application/x-ndjson", ndjson(out)};
}

}  // namespace puna::api::ollama
