#include "store/parts.h"

#include <fmt/format.h>

#include "base/json.h"
#include "store/files.h"

namespace puna::store {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr uint64_t kMaxTextBytes = 16 << 20;

Result<std::string> text_of(const Layout& layout, const Layer& layer) {
  return read_text(layout.blob(layer.digest), kMaxTextBytes);
}

// The last of that type: it is the one that counts where there are several.
Result<std::optional<std::string>> last_text(const Layout& layout, const Manifest& manifest,
                                             std::string_view media_type) {
  const std::vector<Layer> all = manifest.all(media_type);
  if (all.empty()) return std::nullopt;
  PUNA_TRY(std::string text, text_of(layout, all.back()));
  return std::optional(std::move(text));
}

}  // namespace

Result<Manifest> manifest_of(const StoredModel& model) {
  if (model.store.empty()) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("{} has no manifest where it lies.", model.name.text()));
  }
  return load_manifest(Layout(model.store).manifest(model.name));
}

Result<ModelParts> parts_of(const StoredModel& model) {
  ModelParts out{.name = model.name.text(), .model_paths = {model.path}};
  if (!model.projector.empty()) out.model_paths.push_back(model.projector);
  if (model.store.empty()) return out;
  const Layout layout(model.store);
  PUNA_TRY(const Manifest manifest, manifest_of(model));
  PUNA_TRY(out.chat_template, last_text(layout, manifest, kTemplateType));
  PUNA_TRY(out.system, last_text(layout, manifest, kSystemType));
  PUNA_TRY(const auto parameters, last_text(layout, manifest, kParametersType));
  PUNA_TRY(const auto messages, last_text(layout, manifest, kMessagesType));
  out.parameters = parameters.value_or("");
  out.messages = messages.value_or("");
  for (const Layer& license : manifest.all(kLicenseType)) {
    PUNA_TRY(out.licenses.emplace_back(), text_of(layout, license));
  }
  PUNA_TRY(const std::string config, text_of(layout, manifest.config));
  PUNA_TRY_CONTEXT(const Json json, Json::parse(config),
                   fmt::format("While reading the config of {}", out.name));
  const auto field = [&](const char* key) { return json.get_string(key).value_or(""); };
  out.renderer = field("renderer");
  out.parser = field("parser");
  out.minimal_version = field("requires");
  return out;
}

}  // namespace puna::store
