// The manifest of a stored model: the JSON that names its config and layers by digest. Same form as
// ollama's, which is the Docker image manifest, version 2, schema 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/digest.h"

namespace puna::store {

inline constexpr std::string_view kManifestType =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kConfigType = "application/vnd.docker.container.image.v1+json";
inline constexpr std::string_view kModelType = "application/vnd.ollama.image.model";
inline constexpr std::string_view kProjectorType = "application/vnd.ollama.image.projector";
inline constexpr std::string_view kTemplateType = "application/vnd.ollama.image.template";
inline constexpr std::string_view kSystemType = "application/vnd.ollama.image.system";
inline constexpr std::string_view kParametersType = "application/vnd.ollama.image.params";
inline constexpr std::string_view kMessagesType = "application/vnd.ollama.image.messages";
inline constexpr std::string_view kLicenseType = "application/vnd.ollama.image.license";

// 256 TB: of a layer, and of all layers together, so that no sum of sizes overflows.
inline constexpr uint64_t kMaxModelBytes = uint64_t{1} << 48;

struct Layer {
  std::string media_type{};
  Digest digest{};
  uint64_t bytes = 0;
};

struct Manifest {
  Layer config;
  std::vector<Layer> layers;

  const Layer* find(std::string_view media_type) const;  // the first of that type, or nullptr
  // Of all of that type: more than one for the parts of a split model.
  std::vector<Layer> all(std::string_view media_type) const;
  std::vector<Layer> blobs() const;  // the config and all layers, each digest once
  uint64_t bytes() const;            // of all layers
};

// What the config of a model says of it; empty where nothing is to be said.
struct ConfigFields {
  std::string_view family{}, parameters{}, file_type{};  // "llama", "361.82M", "Q4_K_M"
  std::string_view renderer{}, parser{}, minimal_version{};
};
// The config as ollama writes it, so that either program's list shows the same.
std::string write_config(const ConfigFields& fields, const std::vector<Layer>& layers);

// A registry sends no more either.
inline constexpr uint64_t kMaxManifestBytes = 4 << 20;

std::string write_manifest(const Manifest& manifest);
// Errors: kCorrupt, naming what is wrong; also sizes that are out of range, and a blob that has
// two.
base::Result<Manifest> read_manifest(std::string_view text);
// The same of a file. Errors: also kNotFound, kIo.
base::Result<Manifest> load_manifest(const std::string& path);

}  // namespace puna::store
