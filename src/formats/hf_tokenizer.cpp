#include "formats/hf_tokenizer.h"

#include <algorithm>

#include "formats/gguf_vocabulary.h"
#include "formats/hf/special_tokens.h"
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats {

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
  v.space_prefix = tokenizer::SpacePrefix::kNever;
  tokenizer::Pipeline pipeline;
  PUNA_TRY(hf::read_model(*model, v, pipeline));
  PUNA_TRY(hf::read_added_tokens(json.find("added_tokens"), v, pipeline));
  PUNA_TRY(hf::read_normalizer(json.find("normalizer"), v.normalizer));
  PUNA_TRY(hf::read_pre_tokenizer(json.find("pre_tokenizer"), pipeline.steps));
  PUNA_TRY(hf::read_decoder(json.find("decoder"), pipeline));
  PUNA_TRY(hf::read_post_processor(json.find("post_processor"), v));
  if (hf::take_quick_model(v, pipeline)) return v;
  v.model = "pipeline";
  v.pre = tokenizer::kCustomPre;
  v.pipeline = std::make_shared<const tokenizer::Pipeline>(std::move(pipeline));
  return v;
}

}  // namespace

Result<Json> read_tokenizer_config(const HfTokenizerFiles& files) {
  return parse_object(files.tokenizer_config, "tokenizer_config.json");
}

Result<std::string> read_chat_template(const HfTokenizerFiles& files, const Json& config) {
  if (files.chat_template.empty()) return config_template(config);
  return std::string(files.chat_template);
}

Result<HfTokenizer> read_hf_tokenizer(const HfTokenizerFiles& files) {
  HfTokenizer out;
  Vocabulary& v = out.vocabulary;
  {
    PUNA_TRY(const Json json, parse_object(files.tokenizer, "tokenizer.json"));
    PUNA_TRY(v, read_vocabulary(json));
  }
  PUNA_TRY(const Json config, read_tokenizer_config(files));
  hf::read_special_tokens(files, config, v);
  PUNA_TRY(out.chat_template, read_chat_template(files, config));
  if (!gguf_says_all(v)) v.huggingface_json = files.tokenizer;
  return out;
}

}  // namespace puna::formats
