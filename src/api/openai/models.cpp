#include "api/openai/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "service/model_card.h"

namespace puna::api::openai {

using base::Json;
using base::Result;

namespace {

Json names(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& name : list) out.push(name);
  return out;
}

// As llama.cpp numbers the kinds of vocabularies; 0: none.
int vocab_type(const service::LoadedModel& model) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kTypes = {
      {{"llama", 1}, {"gemma4", 1}, {"gpt2", 2}, {"bert", 3}, {"t5", 4}}};
  if (!model.tokenizer) return 0;
  const std::string_view name = model.tokenizer->vocabulary().model;
  const auto found = std::ranges::find(kTypes, name, &std::pair<std::string_view, int>::first);
  return found == kTypes.end() ? 2 : found->second;
}

Json meta_json(const ServedModel& model) {
  const service::LoadedModel& loaded = model.loaded();
  const models::Config& config = loaded.engine->config();
  uint64_t n_parameters = 0;
  for (const formats::Tensor& tensor : loaded.engine->file().tensors)
    n_parameters += tensor.rows() * tensor.columns();
  Json out = Json::object();
  out.set("vocab_type", vocab_type(loaded)).set("n_vocab", config.vocab);
  out.set("n_ctx", loaded.context()).set("n_ctx_train", config.context);
  out.set("n_embd", config.hidden).set("n_params", n_parameters).set("size", model.file_bytes);
  const std::string type = file_type(loaded);
  return out.set("ftype", type.empty() ? Json() : Json(type));
}

std::string_view ability(const ServedModel& model) {
  return model.loaded().engine->options().embeddings ? "embedding" : "completion";
}

Json model_json(const ServedModel& model) {
  Json out = Json::object();
  out.set("id", model.id).set("object", "model").set("created", model.created);
  out.set("owned_by", "puna").set("aliases", names(model.aliases)).set("tags", names(model.tags));
  Json architecture = Json::object();
  architecture.set("input_modalities", Json::array().push("text"))
      .set("output_modalities", Json::array().push("text"));
  out.set("architecture", std::move(architecture));
  return out.set("meta", meta_json(model));
}

// As Ollama lists models, which is what llama.cpp's server gives in the same answer.
Json short_json(const ServedModel& model) {
  const service::LoadedModel& loaded = model.loaded();
  Json details = Json::object();
  details.set("parent_model", "").set("format", "gguf");
  details.set("family", loaded.engine->config().architecture);
  details.set("families", Json::array().push(loaded.engine->config().architecture));
  details.set("parameter_size", "").set("quantization_level", file_type(loaded));
  Json out = Json::object();
  out.set("name", model.id).set("model", model.id).set("modified_at", "");
  out.set("size", model.file_bytes).set("digest", model.digest).set("type", "model");
  out.set("description", "").set("tags", names(model.tags));
  out.set("capabilities", Json::array().push(ability(model)));
  return out.set("parameters", "").set("details", std::move(details));
}

}  // namespace

std::string file_type(const service::LoadedModel& model) {
  return service::file_type_of(model.engine->file());
}

Result<Exchange> models(const Call& call) {
  Json brief = Json::array(), data = Json::array();
  for (const ModelLease& model : call.models.loaded()) {
    brief.push(short_json(*model));
    data.push(model_json(*model));
  }
  Json out = Json::object();
  out.set("models", std::move(brief)).set("object", "list");
  return HttpReply::json(out.set("data", std::move(data)));
}

Result<Exchange> model(const Call& call) {
  const std::string& id = call.http.path_values.front();
  for (const ModelLease& model : call.models.loaded()) {
    if (model->answers_to(id)) return HttpReply::json(model_json(*model));
  }
  return base::fail(base::ErrorCode::kNotFound, fmt::format("There is no model \"{}\" here.", id));
}

}  // namespace puna::api::openai
