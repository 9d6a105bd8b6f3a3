#include "api/llama/router.h"

#include <algorithm>
#include <string>

#include "api/build_info.h"

namespace puna::api::llama {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr Field kRouterFields[] = {
    Field{"model", Field::Kind::kText, "A name of the model."}.needed(),
};

constexpr Field kRemovedQuery[] = {
    Field{"model", Field::Kind::kText, "A name of the model."}.needed(),
};

struct Asked {
  ModelControl& control;
  std::string model;
};

Result<Asked> asked(const Call& call, std::string model) {
  if (model.empty()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The field \"model\" is missing: which model is meant?");
  }
  ModelControl* const control = call.models.control();
  if (!control)
    return base::fail(ErrorCode::kUnsupported, "This server has one model, which stays.");
  return Asked{*control, std::move(model)};
}

Result<Asked> read(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kRouterFields}));
  return asked(call, body.text("model").value_or(""));
}

// What the store calls a model that llama.cpp's clients ask for: of two parts it is one of Hugging
// Face to them.
std::string stored_as(const std::string& model) {
  const bool of_two = std::ranges::count(model, '/') == 1;
  return of_two ? "hf.co/" + model : model;
}

HttpReply success() { return HttpReply::json(Json::object().set("success", true)); }

}  // namespace

std::span<const Field> router_fields() { return kRouterFields; }

Result<Exchange> load_model(const Call& call) {
  PUNA_TRY(const Asked asked, read(call));
  PUNA_TRY(asked.control.load(asked.model));
  return success();
}

Result<Exchange> unload_model(const Call& call) {
  PUNA_TRY(const Asked asked, read(call));
  PUNA_TRY(asked.control.unload(asked.model));
  return success();
}

Result<Exchange> download_model(const Call& call) {
  PUNA_TRY(const Asked asked, read(call));
  PUNA_TRY(asked.control.download(asked.model, stored_as(asked.model)));
  return success();
}

std::span<const Field> removed_model_query() { return kRemovedQuery; }

Result<Exchange> remove_model(const Call& call) {
  const std::string* const model = call.http.query_value("model");
  PUNA_TRY(const Asked it, asked(call, model ? *model : ""));
  PUNA_TRY(it.control.remove(it.model));
  return success();
}

Result<std::optional<HttpReply>> router_props(const Call& call) {
  const ModelControl* const control = call.models.control();
  const std::string* name = call.http.query_value("model");
  if (!control || (name && !name->empty())) return std::nullopt;
  Json defaults = Json::object();
  defaults.set("params", Json::object()).set("n_ctx", 0);
  Json out = Json::object();
  out.set("role", "router").set("max_instances", uint64_t{control->most_loaded()});
  out.set("models_autoload", control->autoload()).set("model_alias", "").set("model_path", "none");
  out.set("default_generation_settings", std::move(defaults));
  return HttpReply::json(out.set("build_info", build_info()));
}

}  // namespace puna::api::llama
