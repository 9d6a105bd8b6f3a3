#include "store/name.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::store {
namespace {

constexpr size_t kMaxPartBytes = 80;  // as in ollama's names, so that a store can be shared

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_part(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPartBytes && is_alphanumeric(part.front()) &&
         std::ranges::all_of(
             part, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

base::Result<ModelName> parse_name(std::string_view text) {
  const size_t colon = text.find(':');
  ModelName name{.model = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) name.tag = text.substr(colon + 1);
  if (!is_part(name.model) || !is_part(name.tag)) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format(
            "\"{}\" is not a model name (model or model:tag, each of letters, digits, '.', '_' "
            "and '-', at most {} bytes).",
            text.substr(0, 200), kMaxPartBytes));
  }
  return name;
}

}  // namespace puna::store
