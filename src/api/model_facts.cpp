#include "api/model_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/llama/fim.h"
#include "chat/parsers.h"
#include "service/senses.h"

namespace puna::api {

using base::Json;
using base::Result;

namespace {

int vocab_type(const service::LoadedModel& model) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kTypes = {
      {{"llama", 1}, {"gemma4", 1}, {"gpt2", 2}, {"bert", 3}, {"t5", 4}}};
  if (!model.tokenizer) return 0;
  const std::string_view name = model.tokenizer->vocabulary().model;
  const auto found = std::ranges::find(kTypes, name, &std::pair<std::string_view, int>::first);
  return found == kTypes.end() ? 2 : found->second;
}

std::vector<std::string> capabilities_of(const service::LoadedModel& model) {
  if (model.engine->options().embeddings) return {"embedding"};
  std::vector<std::string> out = {"completion"};
  if (llama::fim_tokens(model)) out.emplace_back("insert");
  if (model.senses && model.senses->has(models::Sense::kPictures)) out.emplace_back("vision");
  if (model.senses && model.senses->has(models::Sense::kSounds)) out.emplace_back("audio");
  if (model.abilities.tools) out.emplace_back("tools");
  const bool thinks =
      model.abilities.thinking ||
      (model.chat_template && !chat::reply_style(model.chat_template->source()).thinking.empty());
  if (thinks) out.emplace_back("thinking");
  return out;
}

Result<uint64_t> get_count(const Json& json, std::string_view key) {
  PUNA_TRY(const int64_t value, json.get_integer(key));
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

}  // namespace

ModelFacts facts_of(const service::LoadedModel& model) {
  const models::Config& config = model.engine->config();
  const formats::ModelFile& file = model.engine->file();
  ModelFacts out;
  out.card = {.format = service::format_of(file),
              .family = config.architecture,
              .n_parameters = service::n_parameters(file),
              .file_type = service::file_type_of(file),
              .context = config.context,
              .embedding = config.hidden,
              .capabilities = capabilities_of(model)};
  out.vocab_type = vocab_type(model);
  out.n_vocab = config.vocab;
  out.context = model.context();
  out.embeddings = model.engine->options().embeddings;
  out.memory_bytes = model.engine->memory().total();
  out.gpu_bytes = model.engine->placement().memory_on(/*gpu=*/true).total();
  return out;
}

Json to_json(const ModelFacts& facts) {
  Json capabilities = Json::array();
  for (const std::string& each : facts.card.capabilities) capabilities.push(each);
  Json out = Json::object();
  out.set("format", facts.card.format).set("family", facts.card.family);
  out.set("n_parameters", facts.card.n_parameters).set("file_type", facts.card.file_type);
  out.set("trained_context", facts.card.context).set("embedding", facts.card.embedding);
  out.set("capabilities", std::move(capabilities)).set("vocab_type", facts.vocab_type);
  out.set("n_vocab", facts.n_vocab).set("context", facts.context);
  out.set("embeddings", facts.embeddings).set("memory_bytes", facts.memory_bytes);
  return out.set("gpu_bytes", facts.gpu_bytes);
}

Result<ModelFacts> read_facts(const Json& json) {
  ModelFacts out;
  PUNA_TRY(out.card.format, json.get_string("format"));
  PUNA_TRY(out.card.family, json.get_string("family"));
  PUNA_TRY(out.card.n_parameters, get_count(json, "n_parameters"));
  PUNA_TRY(out.card.file_type, json.get_string("file_type"));
  PUNA_TRY(out.card.context, get_count(json, "trained_context"));
  PUNA_TRY(out.card.embedding, get_count(json, "embedding"));
  const Json* capabilities = json.find("capabilities");
  if (!capabilities || !capabilities->is_array())
    return base::fail(base::ErrorCode::kInvalidArgument, "\"capabilities\" is missing.");
  for (const Json& each : capabilities->items()) {
    if (each.is_string()) out.card.capabilities.push_back(each.string());
  }
  PUNA_TRY(const int64_t vocab_type, json.get_integer("vocab_type"));
  out.vocab_type = static_cast<int>(vocab_type);
  PUNA_TRY(out.n_vocab, get_count(json, "n_vocab"));
  PUNA_TRY(out.context, get_count(json, "context"));
  PUNA_TRY(out.embeddings, json.get_bool("embeddings"));
  PUNA_TRY(out.memory_bytes, get_count(json, "memory_bytes"));
  PUNA_TRY(out.gpu_bytes, get_count(json, "gpu_bytes"));
  return out;
}

}  // namespace puna::api
