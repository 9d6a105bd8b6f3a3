#include "api/ollama/show.h"

#include <fmt/format.h>

#include <utility>

#include "api/answer_fields.h"
#include "api/ollama/asked.h"
#include "api/ollama/details.h"
#include "service/model_json.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kShowFields[] = {
    {"model", Kind::kText, "A name of the model. Required, or the next."},
    Field{"name", Kind::kText, "The same as model."}.same("model"),
    Field{"verbose", Kind::kFlag, "With long lists, and the tensors."}.or_else("false"),
    passed_over("system", "What the model has is shown."),
    passed_over("template", "What the model has is shown."),
    passed_over("options", "What the model has is shown."),
};

// What a model that is served says of itself; the store need not have it. `chat_template` and
// `system`: those that are in use.
service::ModelTexts texts_of(const ServedModel& served, const formats::ModelFile& file,
                             std::string_view chat_template, std::string_view system) {
  return {.license = file.get_string("general.license", "").value_or(""),
          .modelfile = fmt::format("FROM {}\n", tagged(served.id)),
          .chat_template = std::string(chat_template),
          .system = std::string(system)};
}

Json served_json(const ServedModel& served, bool verbose) {
  const service::LoadedModel& model = served.loaded();
  const formats::ModelFile& file = model.engine->file();
  const std::string_view chat_template =
      model.chat_template ? std::string_view(model.chat_template->source()) : "";
  return shown_json(texts_of(served, file, chat_template, model.defaults.system),
                    served.facts().card, file, verbose);
}

Json stored_json(const ShownModel& shown, bool verbose) {
  return shown_json(shown.texts, shown.model.card, shown.file, verbose)
      .set("modified_at", modified_at(shown.model.modified_s));
}

}  // namespace

std::span<const Field> show_fields() { return kShowFields; }

Json shown_json(const service::ModelTexts& texts, const service::ModelCard& card,
                const formats::ModelFile& file, bool verbose) {
  Json out = Json::object();
  out.set("license", texts.license).set("modelfile", texts.modelfile);
  out.set("parameters", texts.parameters).set("template", texts.chat_template);
  out.set("system", texts.system).set("details", details_json(card));
  const auto set_known = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.set(name, value);
  };
  set_known("renderer", texts.renderer);
  set_known("parser", texts.parser);
  set_known("requires", texts.minimal_version);
  if (!texts.messages.is_null()) out.set("messages", texts.messages);
  out.set("model_info", service::metadata_json(file, verbose));
  if (verbose) out.set("tensors", service::tensors_json(file));
  return out.set("capabilities", capabilities_json(card));
}

Result<Exchange> show(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kShowFields}));
  PUNA_TRY(const std::string name, model_name(body));
  const bool verbose = body.flag("verbose").value_or(false);
  if (call.store) {
    const Result<ShownModel> shown = call.store->show(name);
    if (shown) return HttpReply::json(stored_json(*shown, verbose));
    // What is served need not be of the store, nor its name one that a model there may have.
    const ErrorCode code = shown.error().code;
    if (code != ErrorCode::kNotFound && code != ErrorCode::kInvalidArgument)
      return std::unexpected(shown.error());
  }
  for (const ModelLease& model : call.models.loaded()) {
    if (!model->answers_to(name) || !model->hosts) continue;
    return HttpReply::json(
        served_json(*model, verbose).set("modified_at", modified_at(model->created)));
  }
  const Result<ShownModel> shown = call.models.show(name);
  if (shown) return HttpReply::json(stored_json(*shown, verbose));
  if (shown.error().code != ErrorCode::kNotFound) return std::unexpected(shown.error());
  return base::fail(ErrorCode::kNotFound, fmt::format("model '{}' not found", name));
}

}  // namespace puna::api::ollama
