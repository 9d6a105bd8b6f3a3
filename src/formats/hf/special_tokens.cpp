#include "formats/hf/special_tokens.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "formats/gguf_vocabulary.h"
#include "formats/hf/config.h"
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::Vocabulary;

class Reader {
 public:
  explicit Reader(Vocabulary& v) : v_(v) {}

  // An object, empty where the file is missing or holds none.
  Json parse(std::string_view text, std::string_view name) {
    return text.empty() ? Json::object() : checked(Json::parse(text), name);
  }
  // config.json may have bare words that Python writes, and parts that go before the rest.
  Json parse_config(std::string_view text) {
    if (text.empty()) return Json::object();
    const auto config = Config::parse(text);
    return config ? config->json() : checked(std::unexpected(config.error()), "config.json");
  }

  // "<s>" or {"content": "<s>", ...}; "" when neither file names one.
  std::string named_token(const Json& config, const Json& map, std::string_view key) {
    for (const Json* file : {&config, &map}) {
      const Json* value = file->find(key);
      if (value && value->is_object()) value = value->find("content");
      if (!value || value->is_null()) continue;
      if (value->is_string()) return value->string();
      pass_over(fmt::format("the {} {} is no text", key, value->dump()));
    }
    return {};
  }

  std::optional<int32_t> token(const Json& config, const Json& map, std::string_view key) {
    const std::string name = named_token(config, map, key);
    if (name.empty()) return std::nullopt;
    const auto id = find_token(v_, name);
    if (!id && key != "pad_token")
      pass_over(fmt::format("the {} {} is not in the vocabulary", key, Json(name).dump()));
    return id;
  }

  bool flag(const Json& config, std::string_view key) {
    const auto value = hf::flag(config, key, false);
    if (!value) pass_over(fmt::format("{} is {}", key, config.find(key)->dump()));
    return value.value_or(false);
  }

  // The ids of `json`'s `key`, a number or a list of them, that lie in the vocabulary.
  void add_ids(const Json& json, std::string_view key, std::string_view file) {
    const Json* value = json.find(key);
    if (!value || value->is_null()) return;
    const Json::Array one = {*value};
    size_t n_outside = 0;
    const Json* first_outside = nullptr;
    for (const Json& given : value->is_array() ? value->items() : one) {
      const TokenId token =
          given.is_integer() ? token_id(given.integer(), v_.tokens.size()) : TokenId{{}, true};
      if (token.id) ends.push_back(*token.id);
      if (token.outside && n_outside++ == 0) first_outside = &given;
    }
    if (n_outside == 0) return;
    pass_over(fmt::format("the {} {} of {} is no token of the vocabulary of {}{}", key,
                          first_outside->dump(), file, v_.tokens.size(), of_ids(n_outside)));
  }

  void warn() const {
    if (!faults_.empty())
      base::log_warning("Some of what is said of the tokenizer is passed over: {}.", faults_);
  }

  std::vector<int32_t> ends;

 private:
  Json checked(Result<Json> parsed, std::string_view name) {
    if (parsed && parsed->is_object()) return *std::move(parsed);
    pass_over(fmt::format("{} holds no JSON object{}", name,
                          parsed ? std::string() : fmt::format(" ({})", parsed.error().message)));
    return Json::object();
  }
  void pass_over(std::string_view fault) {
    faults_ += fmt::format("{}{}", faults_.empty() ? "" : "; ", fault);
  }

  Vocabulary& v_;
  std::string faults_;
};

}  // namespace

void read_special_tokens(const HfTokenizerFiles& files, const Json& config, Vocabulary& v) {
  Reader reader(v);
  const Json map = reader.parse(files.special_tokens, "special_tokens_map.json");
  const Json generation = reader.parse(files.generation_config, "generation_config.json");
  const Json model = reader.parse_config(files.model_config);
  const auto bos = reader.token(config, map, "bos_token");
  const auto eos = reader.token(config, map, "eos_token");
  v.pad = reader.token(config, map, "pad_token");
  if (!v.bos) v.bos = bos;
  if (!v.eos) v.eos = eos;
  if (eos) reader.ends.push_back(*eos);
  v.add_bos |= reader.flag(config, "add_bos_token") && v.bos.has_value();
  v.add_eos |= reader.flag(config, "add_eos_token") && v.eos.has_value();
  reader.add_ids(generation, "eos_token_id", "generation_config.json");
  reader.add_ids(model, "eos_token_id", "config.json");
  if (const Json* conversation = model.find("conv_template"))  // MLC's
    reader.add_ids(*conversation, "stop_token_ids", "mlc-chat-config.json");
  if (!v.eos && !reader.ends.empty()) v.eos = reader.ends.front();
  find_end_tokens(reader.ends, v);
  reader.warn();
}

}  // namespace puna::formats::hf
