#include "api/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/fields.h"
#include "api/media.h"

namespace puna::api {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view kWanted =
    "a text, a list of token ids, a list of both, or a list of such prompts";

Result<std::vector<int32_t>> mixed(std::string_view field, const Json& parts,
                                   const service::LoadedModel& model) {
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  std::vector<int32_t> out;
  bool first = true;
  for (const Json& part : parts.items()) {
    if (part.is_string()) {
      const auto ids = tokenizer->encode(part.string(), {.add_special = first});
      out.insert(out.end(), ids.begin(), ids.end());
    } else {
      PUNA_TRY(const std::vector<int32_t> id, token_ids(field, Json::array().push(part)));
      out.push_back(id.front());
    }
    first = false;
  }
  return out;
}

// The parts of a content become one text.
Result<std::string> text_of_content(std::string_view field, const Json& parts) {
  constexpr std::string_view kParts =
      "with \"content\" a list of parts {\"type\": \"text\", \"text\": …}";
  if (!parts.is_array() || parts.items().empty()) return refuse_field(field, parts, kParts);
  std::string out;
  for (const Json& part : parts.items()) {
    const Json* type = part.find("type");
    const Json* text = part.find("text");
    if (!type || *type != Json("text") || !text || !text->is_string())
      return refuse_field(field, part, kParts);
    out += text->string();
  }
  return out;
}

// Puts files where their markers stand.
Result<void> place_media(const Json& data, Prompt& prompt) {
  PUNA_TRY(const std::vector<MediaFile> files, media_of_list("multimodal_data", data));
  service::UnmarkedText unmarked = service::take_marks(*prompt.text, media_marker());
  if (unmarked.places.size() != files.size()) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The field \"multimodal_data\" has {} files, but \"prompt_string\" has {} "
                    "markers {} (/props has it as media_marker).",
                    files.size(), unmarked.places.size(), media_marker()));
  }
  prompt.text = std::move(unmarked.text);
  for (size_t i = 0; i < files.size(); ++i)
    prompt.media.push_back({.at = unmarked.places[i], .file = files[i]});
  return {};
}

bool is_number(const Json& value) { return value.is_number(); }

// Of one prompt.
Result<Prompt> read_one(std::string_view field, const Json& value,
                        const service::LoadedModel& model) {
  Prompt out;
  if (value.is_string()) {
    PUNA_TRY_CONTEXT(service::tokenizer_of(model),
                     "While reading the prompt; token ids need no vocabulary");
    out.text = value.string();
    return out;
  }
  if (value.is_object()) {
    if (const Json* content = value.find("content")) {
      PUNA_TRY(std::string text, text_of_content(field, *content));
      return read_one(field, Json(std::move(text)), model);
    }
    const Json* text = value.find("prompt_string");
    if (!text || !text->is_string()) return refuse_field(field, value, kWanted);
    PUNA_TRY(out, read_one(field, *text, model));
    if (const Json* media = value.find("multimodal_data"); media && !media->is_null()) {
      PUNA_TRY(place_media(*media, out));
    }
    return out;
  }
  if (!value.is_array() || value.items().empty()) return refuse_field(field, value, kWanted);
  if (std::ranges::any_of(value.items(), &Json::is_string)) {
    PUNA_TRY(out.tokens, mixed(field, value, model));
  } else {
    PUNA_TRY(out.tokens, token_ids(field, value));
  }
  PUNA_TRY_CONTEXT(model.engine->check_tokens(out.tokens),
                   fmt::format("While reading the field \"{}\"", field));
  return out;
}

}  // namespace

Result<Prompts> read_prompts(std::string_view field, const Json* value,
                             const service::LoadedModel& model, size_t most) {
  Prompts out;
  if (!value) return refuse_field(field, Json(), kWanted);
  // A list with a number in it is one prompt.
  out.one = !value->is_array() || std::ranges::any_of(value->items(), is_number);
  if (out.one) {
    PUNA_TRY(out.list.emplace_back(), read_one(field, *value, model));
    return out;
  }
  const size_t n = value->items().size();
  if (n == 0) return refuse_field(field, *value, kWanted);
  if (n > most) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"{}\" has {} prompts, but at most {} are possible.",
                                  field, n, most));
  }
  for (const Json& each : value->items()) {
    PUNA_TRY(out.list.emplace_back(), read_one(field, each, model));
  }
  return out;
}

service::Request with_prompt(service::Request request, Prompt prompt) {
  if (prompt.text) request.prompt = *std::move(prompt.text);
  request.tokens = std::move(prompt.tokens);
  request.media = std::move(prompt.media);
  return request;
}

Result<std::vector<int32_t>> tokens_of(const Prompt& prompt, const service::LoadedModel& model) {
  if (!prompt.media.empty()) {
    return base::fail(
        ErrorCode::kUnsupported,
        "The field \"multimodal_data\" has files, but only texts and token ids can be "
        "read here.");
  }
  if (!prompt.text) return prompt.tokens;
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  std::vector<int32_t> out = tokenizer->encode(*prompt.text);
  const std::optional<int32_t> bos = tokenizer->vocabulary().bos;
  if (out.empty() && bos) out.push_back(*bos);
  return out;
}

std::string text_of(const Prompt& prompt, const service::LoadedModel& model) {
  if (prompt.text) return *prompt.text;
  return model.tokenizer ? model.tokenizer->decode(prompt.tokens, /*special=*/true) : std::string();
}

}  // namespace puna::api
