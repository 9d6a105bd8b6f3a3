#include "api/openai/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

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

Json meta_json(const ServedModel& model, const ModelFacts& facts) {
  const service::ModelCard& card = facts.card;
  Json out = Json::object();
  out.set("vocab_type", facts.vocab_type).set("n_vocab", facts.n_vocab);
  out.set("n_ctx", facts.context).set("n_ctx_train", card.context);
  out.set("n_embd", card.embedding).set("n_params", card.n_parameters);
  out.set("size", model.file_bytes);
  return out.set("ftype", card.file_type.empty() ? Json() : Json(card.file_type));
}

bool has(const ModelFacts& facts, std::string_view capability) {
  return std::ranges::find(facts.card.capabilities, capability) != facts.card.capabilities.end();
}

Json input_modalities(const ModelStatus& model, const std::optional<ModelFacts>& facts) {
  const service::Takes takes =
      facts ? service::Takes{.pictures = has(*facts, "vision"), .sounds = has(*facts, "audio")}
            : model.takes.value_or(service::Takes());
  Json out = Json::array().push("text");
  if (takes.pictures) out.push("image");
  if (takes.sounds) out.push("audio");
  return out;
}

// Null: it was never loaded, or is not any more.
const ModelLease& last_known(const ModelStatus& model) {
  return model.model ? model.model : model.asleep;
}

// As llama.cpp's server has it where it has several models.
Json status_json(const ModelStatus& model) {
  Json out = Json::object();
  out.set("value", name_of(model.state)).set("args", Json::array());
  if (!model.preset.empty()) out.set("preset", model.preset);
  if (model.state == ModelState::kDownloading) out.set("progress", files_json(model.files));
  if (!model.error.empty()) out.set("failed", true).set("error", model.error);
  return out;
}

// `managed`: it is one of those that come and go.
Json model_json(const ModelStatus& model, bool managed) {
  Json out = Json::object();
  out.set("id", model.id).set("object", "model").set("created", model.created);
  out.set("owned_by", "puna").set("aliases", names(model.aliases)).set("tags", names(model.tags));
  if (managed) {
    out.set("status", status_json(model)).set("source", model.source);
    out.set("can_remove", model.source == "puna");
  }
  Json architecture = Json::object();
  std::optional<ModelFacts> facts;
  const ModelLease& known = last_known(model);
  if (known) facts = known->facts();
  architecture.set("input_modalities", input_modalities(model, facts))
      .set("output_modalities", Json::array().push("text"));
  out.set("architecture", std::move(architecture));
  return facts ? out.set("meta", meta_json(*known, *facts)) : out;
}

// As Ollama lists models, which is what llama.cpp's server gives in the same answer.
Json short_json(const ServedModel& model) {
  const ModelFacts facts = model.facts();
  Json details = Json::object();
  details.set("parent_model", "").set("format", "gguf");
  details.set("family", facts.card.family);
  details.set("families", Json::array().push(facts.card.family));
  details.set("parameter_size", "").set("quantization_level", facts.card.file_type);
  Json out = Json::object();
  out.set("name", model.id).set("model", model.id).set("modified_at", "");
  out.set("size", model.file_bytes).set("digest", model.digest).set("type", "model");
  out.set("description", "").set("tags", names(model.tags));
  Json capabilities = Json::array().push(facts.embeddings ? "embedding" : "completion");
  if (has(facts, "vision") || has(facts, "audio")) capabilities.push("multimodal");
  out.set("capabilities", std::move(capabilities));
  return out.set("parameters", "").set("details", std::move(details));
}

}  // namespace

std::string file_type(const service::LoadedModel& model) {
  return service::file_type_of(model.engine->file());
}

Result<Exchange> models(const Call& call) {
  Json brief = Json::array(), data = Json::array();
  ModelControl* const control = call.models.control();
  if (control) control->renew();
  for (const ModelStatus& model : call.models.list()) {
    if (const ModelLease& known = last_known(model)) brief.push(short_json(*known));
    data.push(model_json(model, control != nullptr));
  }
  Json out = Json::object();
  out.set("models", std::move(brief)).set("object", "list");
  return HttpReply::json(out.set("data", std::move(data)));
}

Result<Exchange> model(const Call& call) {
  const std::string& id = call.http.path_values.front();
  const bool managed = call.models.control() != nullptr;
  for (const ModelStatus& model : call.models.list()) {
    const ModelLease& known = last_known(model);
    const bool is_it = known && known->answers_to(id);
    if (is_it || std::ranges::any_of(
                     model.aliases, [&](const std::string& alias) { return same_name(alias, id); }))
      return HttpReply::json(model_json(model, managed));
  }
  return base::fail(base::ErrorCode::kNotFound, fmt::format("There is no model \"{}\" here.", id));
}

}  // namespace puna::api::openai
