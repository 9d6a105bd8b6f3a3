#include "api/answer_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/answer_form.h"
#include "api/sampling.h"

namespace puna::api {

using base::ErrorCode;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr double kLongest = UINT32_MAX;

constexpr Field kAnswerFields[] = {
    {"model", Kind::kText, "A name of the model; none: the one that is served."},
    Field{"stream", Kind::kFlag, "The answer comes in pieces, as it is written."}.or_else("false"),
    Field{"n", Kind::kInteger, "Answers to each prompt.", 1, kMaxAnswers}.or_else("1"),
    Field{"n_cmpl", Kind::kInteger, "The same as n.", 1, kMaxAnswers}.same("n"),
    Field{"max_tokens", Kind::kInteger, "Tokens at most; -1: as many as the context has room for.",
          -1, kLongest}
        .or_else("-1"),
    Field{"max_completion_tokens", Kind::kInteger, "The same as max_tokens.", -1, kLongest}.same(
        "max_tokens"),
    Field{"n_predict", Kind::kInteger, "The same as max_tokens.", -1, kLongest}.same("max_tokens"),
    {"stop", Kind::kTexts, "The answer ends before the first of these."},
    Field{"cache_prompt", Kind::kFlag, "What is known of the prompt is not evaluated again."}
        .or_else("true"),
    Field{"ignore_eos", Kind::kFlag, "Goes on where the model would end."}.or_else("false"),
    Field{"sse_ping_interval", Kind::kInteger,
          "Seconds between signs of life in a stream; 0: none; -1: as the server does.", -1, 3600}
        .or_else("-1"),
    Field{"id_slot", Kind::kInteger,
          "The slot that the texts are written in, one after the other, when those before them "
          "have left it; -1: any.",
          -1, kMostSlots - 1}
        .or_else("-1"),
    Field{"n_keep", Kind::kInteger,
          "Of --context-shift, without which a full context ends the answer: tokens at the "
          "beginning that stay; -1: the prompt.",
          -1, kLongest}
        .or_else("0"),
    Field{"n_discard", Kind::kInteger,
          "Of --context-shift: tokens behind these that go; 0: half of them.", 0, kLongest}
        .or_else("0"),
    Field{"return_progress", Kind::kFlag,
          "A stream tells how far the prompt is read: prompt_progress."}
        .or_else("false"),
    Field{"timings_per_token", Kind::kFlag, "Each piece of a stream has the timings so far."}
        .or_else("false"),
    Field{"verbose", Kind::kFlag,
          "Chats and /v1/completions: __verbose of an answer is the same as /completion has it, "
          "with the prompt as the model reads it."}
        .or_else("false"),
    {"grammar", Kind::kText, "The answer is what this grammar (GBNF) matches."},
    {"json_schema", Kind::kAny, "The answer is JSON that this schema admits."},
    Field{"response_format", Kind::kObject,
          "text: the answer is free. Else it is JSON, of a schema."}
        .with(format_fields),
    Field{
        "grammar_lazy", Kind::kFlag,
        "The grammar holds from where one of grammar_triggers stands in the answer; what is before "
        "is free."}
        .or_else("false"),
    Field{"grammar_triggers", Kind::kList, "With grammar_lazy: what the free part ends at."}
        .with(trigger_fields)
        .or_else("[]"),
    Field{"preserved_tokens", Kind::kTexts,
          "Control tokens whose text is part of the answer, and which a grammar may write."}
        .or_else("[]"),
    refused("lora", "adapters cannot be chosen by a request yet.", "[]"),
    refused("speculative", "drafts are no matter of a request."),
    refused("t_max_predict_ms", "an answer ends by its tokens, not by time.", "0"),
    refused("n_indent", "lines are not ended by their indentation.", "0"),
    passed_over("user", "Who asks."),
    passed_over("safety_identifier", "Who asks."),
    passed_over("metadata", "What the client remembers of a request."),
    passed_over("store", "Nothing is stored."),
    passed_over("service_tier", "There is one."),
    passed_over("prompt_cache_key", "Prompts are known again by what they say."),
    passed_over("prompt_cache_retention", "What is known stays as long as there is room."),
    passed_over("n_cache_reuse", "What is known of a prompt is its beginning."),
};

// SplitMix64 (Steele et al. 2014): seeds next to each other give unlike ones.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// What would end the text is not chosen, as llama-server has it.
Result<void> forbid_ends(kernels::SamplingParams& sampling, const service::LoadedModel& model) {
  if (!model.tokenizer) return {};
  for (const int32_t id : model.tokenizer->vocabulary().end_tokens) {
    std::erase_if(sampling.logit_bias, [&](const auto& bias) { return bias.first == id; });
    sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
  return model.engine->check_sampling(sampling);
}

}  // namespace

std::unexpected<base::Error> cannot(std::string_view field, std::string_view why) {
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The field \"{}\" is not supported: {}.", field, why));
}

Result<void> check_stops(std::string_view field, const std::vector<std::string>& stops) {
  if (stops.size() > kMaxStops) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"{}\" has {} texts, but at most {} are possible.",
                                  field, stops.size(), kMaxStops));
  }
  for (const std::string& stop : stops) {
    if (!stop.empty() && stop.size() <= kMaxStopBytes) continue;
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"{}\" has a text of {} bytes, but they have to have "
                                  "from 1 to {}.",
                                  field, stop.size(), kMaxStopBytes));
  }
  return {};
}

Result<std::vector<std::string>> read_stops(std::string_view field, const Body& body,
                                            const service::LoadedModel& model) {
  std::vector<std::string> stops = body.texts(field);
  if (stops.empty()) stops = model.defaults.request.stop;
  PUNA_TRY(check_stops(field, stops));
  return stops;
}

std::span<const Field> answer_fields() { return kAnswerFields; }

Texts texts_of(const AnswerFields& answer) {
  Texts out;
  out.stream = answer.stream;
  out.ping_seconds = answer.ping_seconds;
  out.slot = answer.slot;
  return out;
}

Result<AnswerFields> read_answer_fields(const Body& body, const service::LoadedModel& model) {
  if (model.engine->options().embeddings) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The model {} was loaded for embeddings; it gives no text.", model.name));
  }
  AnswerFields out;
  out.stream = body.flag("stream").value_or(false);
  const auto n = body.integer("n");
  out.n = static_cast<uint32_t>((n ? n : body.integer("n_cmpl")).value_or(1));
  service::Request& request = out.request;
  out.reports = read_reports(body, model.defaults.verbose);
  request = model.defaults.request;
  for (const char* name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    const auto most = body.integer(name);
    if (!most) continue;
    if (*most >= 0) request.max_tokens = static_cast<uint32_t>(*most);
    break;
  }
  PUNA_TRY(request.stop, read_stops("stop", body, model));
  request.reuse = body.flag("cache_prompt").value_or(request.reuse);
  request.ignore_end = body.flag("ignore_eos").value_or(request.ignore_end);
  PUNA_TRY(request.sampling, read_sampling(body, model));
  if (request.shift) {
    if (const auto n = body.integer("n_keep")) request.shift->n_keep = number_or_none(*n);
    if (const auto n = body.integer("n_discard"))
      request.shift->n_discard = static_cast<uint32_t>(*n);
  }
  if (request.ignore_end) PUNA_TRY(forbid_ends(request.sampling, model));
  PUNA_TRY(request.preserved, read_preserved(body, model));
  PUNA_TRY(auto form, read_form(body, model, request.preserved));
  if (form) request.form = std::move(form);
  if (const auto slot = body.integer("id_slot")) out.slot = number_or_none(*slot);
  const auto ping = body.integer("sse_ping_interval");
  if (ping && *ping >= 0) out.ping_seconds = static_cast<int>(*ping);
  return out;
}

std::vector<service::Request> repeated(std::vector<service::Request> requests, uint32_t n) {
  std::vector<service::Request> out;
  for (service::Request& request : requests) {
    const uint64_t seed = request.sampling.seed;
    for (uint32_t i = 1; i < n; ++i) {
      out.push_back(request);
      out.back().sampling.seed = mixed(seed + i * 0x9E3779B97F4A7C15);
    }
    out.insert(out.end() - (n - 1), std::move(request));
  }
  return out;
}

}  // namespace puna::api
