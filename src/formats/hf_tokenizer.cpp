#include "formats/hf_tokenizer.h"

#include <algorithm>

#include "formats/gguf_vocabulary.h"
#include "formats/hf/special_tokens.h"
#include "formats/hf_tokenizer_parts.h"
#include "tokenizer/pre_tokenizers.h"

namespace puna::formats {

namespace hf {

using base::Json;
using base::Result;

Result<std::string> type_of(const Json* part, std::string_view what) {
  if (!part || part->is_null()) return std::string();
  const Json* type = part->find("type");
  if (!type || !type->is_string()) return corrupt(fmt::format("a {} without a type.", what));
  return type->string();
}

Result<bool> flag(const Json& part, std::string_view key, bool otherwise) {
  const Json* value = part.find(key);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_bool())
    return corrupt(
        fmt::format("a {} as \"{}\" (true or false is expected).", value->type_name(), key));
  return value->boolean();
}

Result<std::string> text(const Json& part, std::string_view key, std::string_view otherwise) {
  const Json* value = part.find(key);
  if (!value || value->is_null()) return std::string(otherwise);
  if (!value->is_string())
    return corrupt(fmt::format("a {} as \"{}\" (a string is expected).", value->type_name(), key));
  return value->string();
}

Result<std::vector<const Json*>> flatten(const Json* part, std::string_view list) {
  std::vector<const Json*> out;
  PUNA_TRY(const std::string type, type_of(part, list));
  if (type.empty()) return out;
  if (type != "Sequence") return std::vector{part};
  const Json* items = part->find(list);
  if (!items || !items->is_array()) return corrupt(fmt::format("a Sequence without \"{}\".", list));
  for (const Json& item : items->items()) {
    PUNA_TRY(const auto inner, flatten(&item, list));
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

}  // namespace hf

namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using tokenizer::Vocabulary;

constexpr std::string_view kParts[] = {"version",        "truncation", "padding",
                                       "added_tokens",   "normalizer", "pre_tokenizer",
                                       "post_processor", "decoder",    "model"};

Result<Json> parse_object(std::string_view text, std::string_view name) {
  if (text.empty()) return Json::object();
  PUNA_TRY_CONTEXT(Json json, Json::parse(text), fmt::format("While reading {}", name));
  if (!json.is_object())
    return base::fail(ErrorCode::kCorrupt, fmt::format("The file {} holds no JSON object.", name));
  return json;
}

// A string, or a list of {"name", "template"} of which the default one is taken.
Result<std::string> config_template(const Json& config) {
  const Json* value = config.find("chat_template");
  if (!value || value->is_null()) return std::string();
  if (value->is_string()) return value->string();
  if (value->is_array()) {
    for (const Json& item : value->items()) {
      PUNA_TRY(const std::string name, item.get_string("name"));
      if (name == "default") return item.get_string("template");
    }
    return base::fail(ErrorCode::kUnsupported,
                      "The tokenizer_config.json has chat templates but none called default.");
  }
  return base::fail(
      ErrorCode::kCorrupt,
      fmt::format("The tokenizer_config.json has a {} as chat_template.", value->type_name()));
}

Result<Vocabulary> read_vocabulary(const Json& json) {
  for (const auto& [key, value] : json.members()) {
    if (std::find(std::begin(kParts), std::end(kParts), key) == std::end(kParts))
      return hf::unsupported(fmt::format("the part \"{}\", which is not known.", key));
  }
  const Json* model = json.find("model");
  if (!model || !model->is_object()) return hf::corrupt("no \"model\".");
  Vocabulary v;
  PUNA_TRY(hf::read_model(*model, v));
  PUNA_TRY(hf::read_added_tokens(json.find("added_tokens"), v));
  PUNA_TRY(hf::read_text_steps(json.find("normalizer"), json.find("pre_tokenizer"), v));
  PUNA_TRY(hf::read_post_processor(json.find("post_processor"), v));
  // Without steps normalized text is the text itself.
  const auto rule = tokenizer::find_pre_tokenizer(v.pre);
  const bool has_steps = !v.normalizer.empty() || (rule && (*rule)->nfc);
  if (!has_steps && v.model == "gpt2") {
    for (auto& rules : v.rules) rules.normalized = false;
    std::erase_if(v.rules,
                  [](const auto& rules) { return rules == tokenizer::TokenRules{rules.id}; });
  }
  return v;
}

}  // namespace

Result<HfTokenizer> read_hf_tokenizer(const HfTokenizerFiles& files) {
  HfTokenizer out;
  Vocabulary& v = out.vocabulary;
  {
    PUNA_TRY(const Json json, parse_object(files.tokenizer, "tokenizer.json"));
    PUNA_TRY(v, read_vocabulary(json));
  }
  PUNA_TRY(const Json config, parse_object(files.tokenizer_config, "tokenizer_config.json"));
  hf::read_special_tokens(files, config, v);
  if (files.chat_template.empty()) {
    PUNA_TRY(out.chat_template, config_template(config));
  } else {
    out.chat_template = files.chat_template;
  }
  if (!gguf_says_all(v)) v.huggingface_json = files.tokenizer;
  return out;
}

}  // namespace puna::formats
