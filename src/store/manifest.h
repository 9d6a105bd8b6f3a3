// The manifest of a stored model: the JSON that names its config and layers by digest. Same form as
// ollama's, which is the Docker image manifest, version 2, schema 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::store {

inline constexpr std::string_view kConfigType = "application/vnd.docker.container.image.v1+json";
inline constexpr std::string_view kModelType = "application/vnd.ollama.image.model";
inline constexpr std::string_view kLicenseType = "application/vnd.ollama.image.license";

struct Layer {
  std::string media_type{};
  std::string sha256{};  // 64 lower-case hex digits
  uint64_t bytes = 0;
};

struct Manifest {
  Layer config;
  std::vector<Layer> layers;

  const Layer* find(std::string_view media_type) const;  // the first of that type, or nullptr
};

std::string write_manifest(const Manifest& manifest);
// Errors: kCorrupt, naming what is wrong.
base::Result<Manifest> read_manifest(std::string_view text);

}  // namespace puna::store
