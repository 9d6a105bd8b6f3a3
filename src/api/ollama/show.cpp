#include "api/ollama/show.h"

#include <fmt/format.h>

#include <utility>

#include "api/answer_fields.h"
#include "api/ollama/details.h"
#include "service/model_json.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kFields[] = {
    {"model", Kind::kText, "A name of the model. Required, or the next."},
    {"name", Kind::kText, "The same as model."},
    Field{"verbose", Kind::kFlag, "With long lists, and the tensors."}.or_else("false"),
    passed_over("system", "What the model has is shown."),
    passed_over("template", "What the model has is shown."),
    passed_over("options", "What the model has is shown."),
};

// {model_info, tensors with `verbose`, capabilities, modified_at}
void set_file(Json& out, const formats::ModelFile& file, Json capabilities, int64_t modified_s,
              bool verbose) {
  out.set("model_info", service::metadata_json(file, verbose));
  if (verbose) out.set("tensors", service::tensors_json(file));
  out.set("capabilities", std::move(capabilities)).set("modified_at", modified_at(modified_s));
}

Json stored_json(const ShownModel& shown, bool verbose) {
  Json out = Json::object();
  out.set("license", shown.license).set("modelfile", shown.modelfile);
  out.set("parameters", shown.parameters).set("template", shown.chat_template);
  out.set("system", shown.system).set("details", details_json(shown.model.card));
  const auto set_known = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.set(name, value);
  };
  set_known("renderer", shown.renderer);
  set_known("parser", shown.parser);
  set_known("requires", shown.minimal_version);
  if (!shown.messages.is_null()) out.set("messages", shown.messages);
  set_file(out, shown.file, capabilities_json(shown.model.card), shown.model.modified_s, verbose);
  return out;
}

// `chat_template` and `system`: those that are in use.
Json served_json(const ServedModel& served, const formats::ModelFile& file,
                 std::string_view chat_template, std::string_view system, bool verbose) {
  const ModelFacts facts = served.facts();
  Json out = Json::object();
  out.set("license", file.get_string("general.license", "").value_or(""));
  out.set("modelfile", fmt::format("FROM {}\n", tagged(served.id))).set("parameters", "");
  out.set("template", chat_template).set("system", system);
  out.set("details", details_json(facts.card));
  set_file(out, file, capabilities_json(facts.card), served.created, verbose);
  return out;
}

Result<Json> served_json(const ServedModel& served, bool verbose) {
  if (served.host) {
    const service::LoadedModel& model = served.loaded();
    return served_json(served, model.engine->file(),
                       model.chat_template ? model.chat_template->source() : "",
                       model.defaults.system, verbose);
  }
  // The process that runs it is not asked for what its file says.
  PUNA_TRY(const formats::ModelFile file, served.remote->read_file());
  const std::string chat_template = file.get_string("tokenizer.chat_template", "").value_or("");
  return served_json(served, file, chat_template, "", verbose);
}

}  // namespace

std::span<const Field> show_fields() { return kFields; }

Result<Exchange> show(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kFields}));
  const std::string name = body.text("model").value_or(body.text("name").value_or(""));
  if (name.empty()) return base::fail(ErrorCode::kInvalidArgument, "model is required");
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
    if (!model->answers_to(name)) continue;
    PUNA_TRY(const Json out, served_json(*model, verbose));
    return HttpReply::json(out);
  }
  return base::fail(ErrorCode::kNotFound, fmt::format("model '{}' not found", name));
}

}  // namespace puna::api::ollama
