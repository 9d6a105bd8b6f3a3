#include "api/openai/responses.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "api/openai/common.h"
#include "api/openai/response_items.h"
#include "api/openai/response_request.h"
#include "service/prepare.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::Event;
using service::Part;
using service::Reply;

namespace {

int64_t now() { return static_cast<int64_t>(std::time(nullptr)); }

Json usage_of(const Reply& reply) {
  const engine::GenerateStats& stats = reply.stats;
  const uint32_t n_prompt = stats.prompt_tokens();
  Json input = Json::object();
  input.set("cached_tokens", stats.n_cached).set("cache_write_tokens", 0);
  const auto n_thought = std::ranges::count(reply.parts, Part::kReasoning);
  Json out = Json::object();
  out.set("input_tokens", n_prompt).set("input_tokens_details", std::move(input));
  out.set("output_tokens", stats.n_generated);
  out.set("output_tokens_details", Json::object().set("reasoning_tokens", n_thought));
  return out.set("total_tokens", n_prompt + stats.n_generated);
}

class ResponseWriter final : public Writer {
 public:
  ResponseWriter(std::string model, ResponseForm form, const tokenizer::Tokenizer* tokenizer)
      : model_(std::move(model)),
        form_(std::move(form)),
        tokenizer_(tokenizer),
        items_(key_, form_, tokenizer) {}

  std::string begin() override {
    const Json begun = Json::object().set("response", response("in_progress", Json::array()));
    std::string out = items_.frame("response.created", begun);
    return out + items_.frame("response.in_progress", begun);
  }
  std::string next(size_t, const Event& event) override {
    if (!event.prompt || !form_.reports.progress) return items_.next(event);
    Json out = Json::object().set("response", response("in_progress", Json::array()));
    return items_.frame("response.in_progress",
                        out.set("prompt_progress", progress_json(*event.prompt)));
  }
  std::string end(size_t, const Reply& reply) override {
    const std::string_view status = status_of(reply);
    std::string out = items_.finish(status);
    Json last = Json::object().set("response", answered(items_.items(), reply));
    if (form_.reports.timings) last.set("timings", timings_json(reply.stats));
    return out +
           items_.frame(status == "completed" ? "response.completed" : "response.incomplete", last);
  }
  std::string finish() override { return {}; }

  std::string fail(const base::Error& error) override {
    std::string out = items_.close("incomplete");
    const bool ours = api::status_of(error.code) >= 500;
    Json failed = response("failed", items_.items());
    failed.set("error", Json::object()
                            .set("code", ours ? "server_error" : "invalid_prompt")
                            .set("message", error.text()));
    return out + items_.frame("response.failed", Json::object().set("response", std::move(failed)));
  }

  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    const std::string_view status = status_of(reply);
    const auto& calls = reply.parsed.tool_calls;
    const size_t n_calls = form_.one_call ? std::min<size_t>(1, calls.size()) : calls.size();
    Json::Array items;
    const auto place = [&] { return ItemPlace{key_, items.size()}; };
    // Only the last can be cut off, and calls never are: what is left of one is text.
    const std::string_view thought = reply.text.empty() && n_calls == 0 ? status : "completed";
    const std::string_view said = n_calls == 0 ? status : "completed";
    if (!reply.parsed.reasoning.empty())
      items.push_back(reasoning_item(place(), thought, reply.parsed.reasoning));
    if (!reply.text.empty()) {
      items.push_back(
          message_item(place(), said, reply.text, text_logprobs(form_, tokenizer_, reply)));
    }
    for (size_t i = 0; i < n_calls; ++i)
      items.push_back(call_item(place(), "completed", calls[i].name, calls[i].arguments));
    return HttpReply::json(answered(std::move(items), reply));
  }

 private:
  // "completed" or "incomplete": what there is of a cancelled answer is cut off too.
  static std::string_view status_of(const Reply& reply) {
    const bool cut = is_cut(reply) || reply.stats.stop == engine::StopReason::kCancelled;
    return cut ? "incomplete" : "completed";
  }

  Json response(std::string_view status, Json output) const {
    Json out = Json::object();
    out.set("id", "resp_" + key_).set("object", "response").set("created_at", created_);
    out.set("status", status).set("completed_at", nullptr).set("error", nullptr);
    out.set("incomplete_details", nullptr).set("model", model_);
    out.set("output", std::move(output)).set("usage", nullptr);
    for (const auto& [name, value] : form_.settings.members()) out.set(name, value);
    return out;
  }
  Json answered(Json output, const Reply& reply) const {
    const std::string_view status = status_of(reply);
    Json out = response(status, std::move(output));
    out.set("usage", usage_of(reply));
    if (status == "completed") return out.set("completed_at", now());
    const Json reason = is_cut(reply) ? Json("max_output_tokens") : Json();
    return out.set("incomplete_details", Json::object().set("reason", reason));
  }

  const std::string key_ = new_digits();
  const std::string model_;
  const ResponseForm form_;
  const tokenizer::Tokenizer* const tokenizer_;
  const int64_t created_ = now();
  ItemStream items_;
};

}  // namespace

Result<Exchange> responses(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(ResponseRequest read, read_response_request(call.body, model));
  Texts out = texts_of(read.answer);
  out.writer =
      std::make_unique<ResponseWriter>(call.model->id, std::move(read.form), model.tokenizer.get());
  out.requests.push_back(std::move(read.answer.request));
  return out;
}

Result<Exchange> response_input_tokens(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const ResponseRequest read, read_response_request(call.body, model));
  PUNA_TRY(const std::vector<int32_t> tokens, service::prompt_tokens(model, read.answer.request));
  Json out = Json::object();
  out.set("object", "response.input_tokens");
  return HttpReply::json(out.set("input_tokens", tokens.size()));
}

}  // namespace puna::api::openai
