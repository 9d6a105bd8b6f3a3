#include "api/llama/props.h"

#include "api/build_info.h"
#include "api/fields.h"
#include "api/llama/router.h"
#include "api/llama/settings.h"
#include "api/media.h"
#include "api/openai/models.h"
#include "api/probabilities.h"
#include "service/senses.h"

namespace puna::api::llama {

using base::Json;
using base::Result;

namespace {

constexpr Field kChanges[] = {{"model", Field::Kind::kText, "A name of the model."}};

void set_template(Json& out, const service::LoadedModel& model) {
  if (!model.chat_template) return;
  out.set("chat_template", model.chat_template->source());
  const service::Abilities& abilities = model.abilities;
  Json caps = Json::object();
  caps.set("supports_tools", abilities.tools).set("supports_tool_calls", abilities.tools);
  caps.set("supports_reasoning_effort", abilities.thinking_levels);
  caps.set("supports_thinking_switch", abilities.thinking);
  caps.set("supports_string_content", true).set("supports_typed_content", false);
  out.set("chat_template_caps", std::move(caps));
}

}  // namespace

Json props_json(const ServedModel& served) {
  const service::LoadedModel& model = served.loaded();
  Json params = settings_json(model.defaults.request, /*stream=*/false);
  // As a request would have to say it: -1 is drawn.
  params.set("seed", model.defaults.seed ? static_cast<int64_t>(*model.defaults.seed) : -1);
  Json defaults = Json::object();
  defaults.set("params", std::move(params)).set("n_ctx", model.context());
  Json out = Json::object();
  out.set("default_generation_settings", std::move(defaults));
  out.set("total_slots", served.n_texts).set("model_alias", served.id);
  out.set("model_path", served.path).set("model_ftype", openai::file_type(model));
  Json modalities = Json::object();
  const service::Senses* const senses = model.senses.get();
  modalities.set("vision", senses && senses->has(models::Sense::kPictures));
  modalities.set("video", false);
  modalities.set("audio", senses && senses->has(models::Sense::kSounds));
  out.set("modalities", std::move(modalities)).set("media_marker", media_marker());
  set_template(out, model);
  const auto text = [&](auto member) {
    const auto id = model.tokenizer ? model.tokenizer->vocabulary().*member : std::nullopt;
    return id ? token_text(model.tokenizer.get(), *id) : std::string();
  };
  out.set("bos_token", text(&tokenizer::Vocabulary::bos));
  out.set("eos_token", text(&tokenizer::Vocabulary::eos));
  out.set("build_info", build_info());
  return out.set("is_sleeping", false);
}

Result<Exchange> props(const Call& call) { return HttpReply::json(props_json(*call.model)); }

Result<std::optional<HttpReply>> props_before(const Call& call) {
  const std::string* const asked = call.http.query_value("model");
  const std::string name = asked ? *asked : "";
  const bool is_one = call.models.control() == nullptr;
  for (const ModelStatus& each : call.models.list()) {
    if (!each.asleep || (name.empty() ? !is_one : !each.asleep->answers_to(name))) continue;
    Json out = each.asleep->remote->props();
    return HttpReply::json(out.set("is_sleeping", true));
  }
  return router_props(call);
}

Result<Exchange> change_props(const Call& call) {
  // What stands there is named in the log, as is every field that nobody knows.
  if (!call.body.is_null()) PUNA_TRY(Body::read(call.body, {kChanges}));
  return HttpReply::json(Json::object().set("success", true));
}

}  // namespace puna::api::llama
