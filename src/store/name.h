// Names of models: `model:tag`, the tag being `latest` where none is given.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::store {

struct ModelName {
  std::string model{};
  std::string tag = "latest";

  std::string text() const { return model + ":" + tag; }
  bool operator==(const ModelName&) const = default;
};

// Errors: kInvalidArgument when a part is empty, longer than 80 bytes, starts with other than a
// letter or digit, or holds other than letters, digits, '.', '_' and '-'.
base::Result<ModelName> parse_name(std::string_view text);

}  // namespace puna::store
