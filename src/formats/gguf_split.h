// Names of the parts of a split GGUF file: "model-00002-of-00005.gguf".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace puna::formats {

struct SplitName {
  std::string prefix;   // the path up to "-00002-of-"
  uint32_t number = 0;  // from 1
  uint32_t count = 0;
};

// nullopt when the path does not follow the pattern.
std::optional<SplitName> parse_split_name(std::string_view path);
std::string split_path(std::string_view prefix, uint32_t number, uint32_t count);

}  // namespace puna::formats
