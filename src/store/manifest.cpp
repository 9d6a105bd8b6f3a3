#include "store/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/json.h"
#include "store/files.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

Json layer_json(const Layer& layer) {
  Json json = Json::object();
  json.set("mediaType", layer.media_type);
  json.set("digest", layer.digest.text());
  json.set("size", layer.bytes);
  return json;
}

Result<Layer> read_layer(const Json& json) {
  Layer layer;
  PUNA_TRY(layer.media_type, json.get_string("mediaType"));
  PUNA_TRY(const std::string digest, json.get_string("digest"));
  PUNA_TRY(const int64_t size, json.get_integer("size"));
  Result<Digest> parsed = Digest::parse(digest);
  if (!parsed) return fail(ErrorCode::kCorrupt, std::move(parsed.error().message));
  layer.bytes = static_cast<uint64_t>(size);
  if (size < 0 || layer.bytes > kMaxModelBytes)
    return fail(ErrorCode::kCorrupt, fmt::format("The size {} of a layer is out of range.", size));
  layer.digest = *parsed;
  return layer;
}

// What only shows beside other layers.
Result<void> check_sizes(const Manifest& manifest) {
  std::map<Digest, uint64_t> sizes = {{manifest.config.digest, manifest.config.bytes}};
  uint64_t sum = manifest.config.bytes;
  for (const Layer& layer : manifest.layers) {
    const auto [known, is_new] = sizes.emplace(layer.digest, layer.bytes);
    if (known->second != layer.bytes) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("The layer {} has two sizes, {} and {}.", layer.digest.text(),
                              known->second, layer.bytes));
    }
    sum += layer.bytes;  // of two numbers that are in range
    if (sum > kMaxModelBytes)
      return fail(ErrorCode::kCorrupt, "The sizes of the layers add up to more than 256 TB.");
  }
  return {};
}

}  // namespace

const Layer* Manifest::find(std::string_view media_type) const {
  const auto found = std::ranges::find(layers, media_type, &Layer::media_type);
  return found == layers.end() ? nullptr : &*found;
}

std::vector<Layer> Manifest::all(std::string_view media_type) const {
  std::vector<Layer> found;
  std::ranges::copy_if(layers, std::back_inserter(found),
                       [&](const Layer& layer) { return layer.media_type == media_type; });
  return found;
}

std::vector<Layer> Manifest::blobs() const {
  std::vector<Layer> found = {config};
  for (const Layer& layer : layers) {
    if (std::ranges::find(found, layer.digest, &Layer::digest) == found.end())
      found.push_back(layer);
  }
  return found;
}

uint64_t Manifest::bytes() const {
  uint64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.bytes;
  return sum;
}

std::string write_config(const ConfigFields& fields, const std::vector<Layer>& layers) {
  Json diffs = Json::array();
  for (const Layer& layer : layers) diffs.push(layer.digest.text());
  Json rootfs = Json::object();
  rootfs.set("type", "layers").set("diff_ids", std::move(diffs));
  Json config = Json::object();
  config.set("model_format", "gguf");
  config.set("model_family", fields.family);
  config.set("model_families", Json(Json::Array{Json(fields.family)}));
  config.set("model_type", fields.parameters);
  config.set("file_type", fields.file_type);
  const auto set_known = [&](const char* key, std::string_view value) {
    if (!value.empty()) config.set(key, value);
  };
  set_known("renderer", fields.renderer);
  set_known("parser", fields.parser);
  set_known("requires", fields.minimal_version);
  config.set("architecture", "amd64").set("os", "linux").set("rootfs", std::move(rootfs));
  return config.dump();
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
  PUNA_TRY(check_sizes(manifest));
  return manifest;
}

Result<Manifest> load_manifest(const std::string& path) {
  PUNA_TRY(const std::string text, read_text(path, kMaxManifestBytes));
  PUNA_TRY_CONTEXT(Manifest manifest, read_manifest(text),
                   fmt::format("While reading the manifest {}", path));
  return manifest;
}

}  // namespace puna::store
