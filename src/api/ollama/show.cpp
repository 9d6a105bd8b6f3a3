#include "api/ollama/show.h"

#include <fmt/format.h>

#include "api/answer_fields.h"
#include "api/ollama/details.h"

namespace puna::api::ollama {

using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr size_t kShortList = 5;

constexpr Field kFields[] = {
    {"model", Kind::kText, "A name of the model. Required, or the next."},
    {"name", Kind::kText, "The same as model."},
    Field{"verbose", Kind::kFlag, "With long lists, and the tensors."}.or_else("false"),
    passed_over("system", "Models have none of their own."),
    passed_over("template", "What the model has is shown."),
    passed_over("options", "Models have none of their own."),
};

template <class T>
concept List = requires(const T& v) {
  typename T::value_type;
  v.size();
} && !std::same_as<T, std::string>;

Json value_json(const formats::Value& value, bool verbose) {
  return std::visit(
      [&]<class T>(const T& v) -> Json {
        if constexpr (std::same_as<T, formats::ListOfLists>) {
          if (!verbose) return nullptr;
          Json out = Json::array();
          for (const formats::Value& list : v.lists) out.push(value_json(list, verbose));
          return out;
        } else if constexpr (List<T>) {
          if (!verbose && v.size() > kShortList) return nullptr;
          Json out = Json::array();
          for (const auto& item : v) out.push(Json(static_cast<typename T::value_type>(item)));
          return out;
        } else {
          return v;
        }
      },
      value);
}

Json model_info(const service::LoadedModel& model, bool verbose) {
  Json out = Json::object();
  for (const auto& [key, value] : model.engine->file().metadata)
    out.set(key, value_json(value, verbose));
  return out.set("general.parameter_count", n_parameters(model));
}

Json tensors_json(const formats::ModelFile& file) {
  Json out = Json::array();
  for (const formats::Tensor& tensor : file.tensors) {
    Json shape = Json::array();
    for (const uint64_t n : tensor.shape) shape.push(n);
    Json one = Json::object().set("name", tensor.name).set("type", tensor.type_name());
    out.push(one.set("shape", std::move(shape)));
  }
  return out;
}

}  // namespace

std::span<const Field> show_fields() { return kFields; }

Result<Exchange> show(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kFields}));
  const ServedModel& served = *call.model;
  const service::LoadedModel& model = served.loaded();
  const std::string name = body.text("model").value_or(body.text("name").value_or(""));
  if (name.empty()) return base::fail(base::ErrorCode::kInvalidArgument, "model is required");
  if (!served.answers_to(name)) {
    return base::fail(base::ErrorCode::kNotFound, fmt::format("model '{}' not found", name));
  }
  const bool verbose = body.flag("verbose").value_or(false);
  const formats::ModelFile& file = model.engine->file();
  Json out = Json::object();
  out.set("license", file.get_string("general.license", "").value_or(""));
  out.set("modelfile", fmt::format("FROM {}\n", tagged(served.id))).set("parameters", "");
  out.set("template", model.chat_template ? model.chat_template->source() : "");
  out.set("system", "").set("details", details_json(model));
  out.set("model_info", model_info(model, verbose));
  if (verbose) out.set("tensors", tensors_json(file));
  out.set("capabilities", capabilities_json(model)).set("modified_at", modified_at(served));
  return HttpReply::json(out);
}

}  // namespace puna::api::ollama
