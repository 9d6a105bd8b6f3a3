#include "formats/hf_tokenizer.h"

#include <algorithm>

#include "base/log.h"
#include "formats/gguf_vocabulary.h"
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

// "<s>" or {"content": "<s>", ...}; "" when neither file names one.
Result<std::string> named_token(const Json& config, const Json& map, std::string_view key) {
  for (const Json* file : {&config, &map}) {
    const Json* value = file->find(key);
    if (value && value->is_object()) value = value->find("content");
    if (!value || value->is_null()) continue;
    if (!value->is_string())
      return base::fail(
          ErrorCode::kCorrupt,
          fmt::format("The tokenizer_config.json has a {} as {}.", value->type_name(), key));
    return value->string();
  }
  return std::string();
}

// BOS, EOS and padding. What the post_processor puts around text stays; another EOS ends a turn
// too.
Result<void> read_named_tokens(const Json& config, const Json& map, Vocabulary& v,
                               std::vector<int32_t>& ends) {
  for (const std::string_view key : {"bos_token", "eos_token", "pad_token"}) {
    PUNA_TRY(const std::string name, named_token(config, map, key));
    if (name.empty()) continue;
    const auto id = hf::find_token(v, name);
    if (key == "pad_token") {
      v.pad = id;
      continue;
    }
    if (!id) {
      base::log_warning(
          "The tokenizer_config.json has the {} \"{}\", which is not in the vocabulary; it "
          "counts as absent.",
          key, name);
      continue;
    }
    auto& place = key == "bos_token" ? v.bos : v.eos;
    if (!place) place = id;
    if (key == "eos_token") ends.push_back(*id);
  }
  PUNA_TRY(const bool add_bos, hf::flag(config, "add_bos_token", false));
  PUNA_TRY(const bool add_eos, hf::flag(config, "add_eos_token", false));
  v.add_bos |= add_bos && v.bos.has_value();
  v.add_eos |= add_eos && v.eos.has_value();
  return {};
}

Result<void> read_generation_ends(const Json& generation, const Vocabulary& v,
                                  std::vector<int32_t>& ends) {
  const Json* value = generation.find("eos_token_id");
  if (!value || value->is_null()) return {};
  const Json::Array one = {*value};
  for (const Json& id : value->is_array() ? value->items() : one) {
    if (!id.is_integer() || id.integer() < 0 ||
        static_cast<uint64_t>(id.integer()) >= v.tokens.size())
      return base::fail(
          ErrorCode::kCorrupt,
          fmt::format("The generation_config.json has the eos_token_id {}, outside the "
                      "vocabulary of {}.",
                      id.dump(), v.tokens.size()));
    ends.push_back(static_cast<int32_t>(id.integer()));
  }
  return {};
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

Result<HfTokenizer> read_hf_tokenizer(const HfTokenizerFiles& files) {
  HfTokenizer out;
  Vocabulary& v = out.vocabulary;
  {
    PUNA_TRY(const Json json, parse_object(files.tokenizer, "tokenizer.json"));
    PUNA_TRY(v, read_vocabulary(json));
  }
  PUNA_TRY(const Json config, parse_object(files.tokenizer_config, "tokenizer_config.json"));
  PUNA_TRY(const Json map, parse_object(files.special_tokens, "special_tokens_map.json"));
  PUNA_TRY(const Json generation, parse_object(files.generation_config, "generation_config.json"));
  std::vector<int32_t> ends;
  PUNA_TRY(read_named_tokens(config, map, v, ends));
  PUNA_TRY(read_generation_ends(generation, v, ends));
  find_end_tokens(ends, v);
  if (files.chat_template.empty()) {
    PUNA_TRY(out.chat_template, config_template(config));
  } else {
    out.chat_template = files.chat_template;
  }
  if (!gguf_says_all(v)) v.huggingface_json = files.tokenizer;
  return out;
}

}  // namespace puna::formats
