#include "service/shown.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "formats/open.h"
#include "store/parts.h"

namespace puna::service {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Result<ShownModel> show(std::string name, const store::Resolved& found, store::ModelParts parts) {
  const std::string& path = found.path;
  ShownModel out{.name = std::move(name), .stored = found.stored, .parts = std::move(parts)};
  PUNA_TRY(out.modelfile, store::modelfile_of(out.parts));
  PUNA_TRY_CONTEXT(out.file, base::run_until(formats::open_model(path), [] {}),
                   fmt::format("While opening {}", path));
  const std::string own = out.file.get_string("tokenizer.chat_template", "").value_or("");
  out.chat_template = out.modelfile.chat_template.value_or(own);
  const Result<chat::Template> parsed = out.modelfile.chat_template
                                            ? any_template(*out.modelfile.chat_template)
                                            : chat::Template::parse(own);
  const bool has_template = !out.chat_template.empty() && parsed.has_value();
  out.card = card_of(out.file, has_template ? &*parsed : nullptr);
  out.encoder = encoder_beside(found, out.file);
  if (out.encoder && out.encoder->sees) out.card.capabilities.emplace_back("vision");
  if (out.encoder && out.encoder->hears) out.card.capabilities.emplace_back("audio");
  return out;
}

}  // namespace

Result<ShownModel> show_stored(const store::StoredModel& model) {
  PUNA_TRY(store::ModelParts parts, store::parts_of(model));
  return show(model.name.text(),
              {.path = model.path, .projector = model.projector, .stored = model},
              std::move(parts));
}

Result<ShownModel> show_model(std::string_view name) {
  PUNA_TRY(const store::Resolved found, store::resolve(name));
  if (found.needs_pull()) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("The model {} is not in the store; `puna pull {}` fetches it.",
                                  found.name, name));
  }
  if (found.stored) return show_stored(*found.stored);
  return show(std::string(name), found, {.name = std::string(name), .model_paths = {found.path}});
}

Result<ModelTexts> texts_of(const ShownModel& model, std::vector<std::string> from) {
  store::ModelParts parts = model.parts;
  parts.model_paths = std::move(from);
  ModelTexts out{.parameters = parameters_text(model.modelfile.parameters),
                 .chat_template = model.chat_template,
                 .system = model.modelfile.system.value_or(""),
                 .renderer = parts.renderer,
                 .parser = parts.parser,
                 .minimal_version = parts.minimal_version};
  PUNA_TRY(out.modelfile, store::show_modelfile(parts));
  for (const std::string& each : parts.licenses)
    out.license += (out.license.empty() ? "" : "\n") + each;
  if (out.license.empty()) out.license = model.file.get_string("general.license", "").value_or("");
  if (model.modelfile.messages.empty()) return out;
  out.messages = Json::array();
  for (const store::ModelfileMessage& each : model.modelfile.messages)
    out.messages.push(Json::object().set("role", each.role).set("content", each.content));
  return out;
}

std::string parameters_text(const Json& parameters) {
  std::string out;
  if (!parameters.is_object()) return out;
  for (const auto& [name, value] : parameters.members()) {
    const std::vector<Json> values =
        value.is_array() ? std::vector<Json>(value.items().begin(), value.items().end())
                         : std::vector<Json>{value};
    // A name may hold a line feed, behind which other parameters would seem to follow.
    const std::string shown = base::printable(name);
    for (const Json& each : values) out += fmt::format("{:<30} {}\n", shown, each.dump());
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace puna::service
