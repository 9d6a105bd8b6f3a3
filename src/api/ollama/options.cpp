#include "api/ollama/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/answer_fields.h"
#include "api/sampling.h"

namespace puna::api::ollama {

using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr std::string_view kOfLoading = "Nothing in a request loads a model again.";

constexpr Field kOptionsFields[] = {
    Field{"num_predict", Kind::kInteger, "Tokens at most; -1 and -2: as many as there is room for.",
          -2, UINT32_MAX}
        .or_else("-1"),
    {"num_ctx", Kind::kInteger, "Tokens of prompt and answer at most.", 1, UINT32_MAX},
    {"stop", Kind::kTexts, "The answer ends before the first of these."},
    Field{"num_keep", Kind::kInteger,
          "Of shift: tokens at the beginning that stay; -1: the prompt.", -1, UINT32_MAX}
        .or_else("0"),
    Field{"repeat_last_n", Kind::kInteger,
          "Tokens that the penalties look back; 0 = none, -1 = the context.", -1, UINT32_MAX}
        .or_else("64"),
    Field{"top_p", Kind::kNumber, "The most probable tokens of this sum; 1 = off.",
          kernels::kProbability.lowest, kernels::kProbability.highest}
        .or_else("0.9"),
    Field{"min_p", Kind::kNumber, "Tokens this probable beside the first; 0 = off.",
          kernels::kProbability.lowest, kernels::kProbability.highest}
        .or_else("0"),
    passed_over("penalize_newline", "A line feed is a token as others are."),
    passed_over("tfs_z", "There is no such stage of sampling."),
    passed_over("draft_num_predict", "Drafts are no matter of a request."),
    passed_over("num_batch", kOfLoading),
    passed_over("num_gpu", kOfLoading),
    passed_over("main_gpu", kOfLoading),
    passed_over("num_thread", kOfLoading),
    passed_over("numa", kOfLoading),
    passed_over("low_vram", kOfLoading),
    passed_over("f16_kv", kOfLoading),
    passed_over("vocab_only", kOfLoading),
    passed_over("use_mmap", kOfLoading),
    passed_over("use_mlock", kOfLoading),
    refused("n_probs", "logprobs and top_logprobs beside the options say it.", "0"),
};

const Field* find_option(std::string_view name) {
  for (const std::span<const Field> table : {option_fields(), sampling_fields()}) {
    const auto found = std::ranges::find(table, name, &Field::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

// What a row wants where a value of another type stands there; empty: it is of that type.
std::string_view type_wanted(const Field& field, const Json& value) {
  switch (field.kind) {
    case Kind::kInteger:
      return value.is_integer() ? "" : "integer";
    case Kind::kNumber:
      return value.is_number() ? "" : "float32";
    case Kind::kFlag:
      return value.is_bool() ? "" : "boolean";
    case Kind::kText:
      return value.is_string() ? "" : "string";
    case Kind::kTexts: {
      const bool texts = value.is_string() ||
                         (value.is_array() && std::ranges::all_of(value.items(), &Json::is_string));
      return texts ? "" : "array of strings";
    }
    case Kind::kList:
      return value.is_array() ? "" : "array";
    case Kind::kObject:
      return value.is_object() ? "" : "object";
    case Kind::kAny:
      return "";
  }
  return "";
}

Json whole_if_it_is(const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.is_integer() || !value.is_number()) return value;
  const double number = value.number();
  if (number != std::trunc(number) || std::fabs(number) > kExact) return value;
  return static_cast<int64_t>(number);
}

// The options with whole numbers where these are wanted.
Result<Json> checked(const Json& options, uint32_t context) {
  Json out = Json::object();
  for (const auto& [name, given] : options.members()) {
    const Field* field = find_option(name);
    Json value = field && field->kind == Kind::kInteger ? whole_if_it_is(given) : given;
    if (field && field->effect == Field::Effect::kMeant && !value.is_null()) {
      const std::string_view wanted = type_wanted(*field, value);
      if (!wanted.empty()) {
        return base::fail(base::ErrorCode::kInvalidArgument,
                          fmt::format("option \"{}\" must be of type {}", name, wanted));
      }
    }
    if (name == "repeat_last_n" && value == Json(-1)) value = context;
    out.add(name, std::move(value));
  }
  return out;
}

}  // namespace

std::span<const Field> option_fields() { return kOptionsFields; }

std::span<const Field> all_option_fields() {
  static const std::vector<Field> kAll = [] {
    std::vector<Field> out(std::begin(kOptionsFields), std::end(kOptionsFields));
    for (const Field& field : sampling_fields()) {
      if (std::ranges::find(kOptionsFields, field.name, &Field::name) == std::end(kOptionsFields))
        out.push_back(field);
    }
    return out;
  }();
  return kAll;
}

Result<Options> read_options(const Json* options, const service::LoadedModel& model) {
  PUNA_TRY(const Json json, checked(options ? *options : Json::object(), model.context()));
  PUNA_TRY(const Body body, Body::read(json, {kOptionsFields, sampling_fields()}));
  Options out;
  PUNA_TRY(out.sampling, read_sampling(body, model));
  const auto says = [&](std::string_view field) {
    return body.has(field) || model.defaults.named.contains(field);
  };
  if (!says("top_p")) out.sampling.top_p = 0.9f;
  if (!says("min_p")) out.sampling.min_p = 0;
  const auto num_predict = body.integer("num_predict");
  if (num_predict && *num_predict >= 0) out.max_tokens = static_cast<uint32_t>(*num_predict);
  out.num_keep = body.integer("num_keep");
  if (const auto num_ctx = body.integer("num_ctx")) out.num_ctx = static_cast<uint32_t>(*num_ctx);
  PUNA_TRY(out.stop, read_stops("stop", body, model));
  return out;
}

}  // namespace puna::api::ollama
