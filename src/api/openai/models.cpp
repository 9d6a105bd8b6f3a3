#include "api/openai/models.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::api::openai {

using base::Json;
using base::Result;

namespace {

Json names(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& name : list) out.push(name);
  return out;
}

Json model_json(const ServedModel& model) {
  const service::LoadedModel& loaded = model.loaded();
  const models::Config& config = loaded.engine->config();
  Json meta = Json::object();
  meta.set("n_vocab", config.vocab)
      .set("n_ctx", loaded.context())
      .set("n_ctx_train", config.context);
  meta.set("n_embd", config.hidden).set("size", model.file_bytes);
  Json out = Json::object();
  out.set("id", model.id).set("object", "model").set("created", model.created);
  out.set("owned_by", "puna").set("aliases", names(model.aliases)).set("tags", names(model.tags));
  return out.set("meta", std::move(meta));
}

}  // namespace

Result<Exchange> models(const Call& call) {
  Json data = Json::array();
  for (const ModelLease& model : call.models.loaded()) data.push(model_json(*model));
  return HttpReply::json(Json::object().set("object", "list").set("data", std::move(data)));
}

Result<Exchange> model(const Call& call) {
  const std::string& id = call.http.path_values.front();
  for (const ModelLease& model : call.models.loaded()) {
    if (model->answers_to(id)) return HttpReply::json(model_json(*model));
  }
  return base::fail(base::ErrorCode::kNotFound, fmt::format("There is no model \"{}\" here.", id));
}

}  // namespace puna::api::openai
