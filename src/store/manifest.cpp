#include "store/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr std::string_view kManifestType = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view kDigestPrefix = "sha256:";

Json layer_json(const Layer& layer) {
  Json json = Json::object();
  json.set("mediaType", layer.media_type);
  json.set("digest", std::string(kDigestPrefix) + layer.sha256);
  json.set("size", layer.bytes);
  return json;
}

Result<Layer> read_layer(const Json& json) {
  Layer layer;
  PUNA_TRY(layer.media_type, json.get_string("mediaType"));
  PUNA_TRY(const std::string digest, json.get_string("digest"));
  PUNA_TRY(const int64_t size, json.get_integer("size"));
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!digest.starts_with(kDigestPrefix) || digest.size() != kDigestPrefix.size() + 64 ||
      !std::ranges::all_of(digest.substr(kDigestPrefix.size()), is_hex)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The digest \"{}\" is not \"sha256:\" and 64 hex digits.", digest));
  }
  if (size < 0)
    return fail(ErrorCode::kCorrupt, fmt::format("The size {} of a layer is negative.", size));
  layer.sha256 = digest.substr(kDigestPrefix.size());
  layer.bytes = static_cast<uint64_t>(size);
  return layer;
}

}  // namespace

const Layer* Manifest::find(std::string_view media_type) const {
  const auto found = std::ranges::find(layers, media_type, &Layer::media_type);
  return found == layers.end() ? nullptr : &*found;
}

std::string write_manifest(const Manifest& manifest) {
  Json layers = Json::array();
  for (const Layer& layer : manifest.layers) layers.push(layer_json(layer));
  Json json = Json::object();
  json.set("schemaVersion", 2);
  json.set("mediaType", kManifestType);
  json.set("config", layer_json(manifest.config));
  json.set("layers", std::move(layers));
  return json.dump();
}

Result<Manifest> read_manifest(std::string_view text) {
  PUNA_TRY(const Json json, Json::parse(text));
  const Json* config = json.find("config");
  const Json* layers = json.find("layers");
  if (!config || !layers || !layers->is_array()) {
    return fail(ErrorCode::kCorrupt, "The manifest has no \"config\" or no list of \"layers\".");
  }
  Manifest manifest;
  PUNA_TRY(manifest.config, read_layer(*config));
  for (const Json& layer : layers->items()) {
    PUNA_TRY(Layer read, read_layer(layer));
    manifest.layers.push_back(std::move(read));
  }
  return manifest;
}

}  // namespace puna::store
