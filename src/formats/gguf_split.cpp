#include "formats/gguf_split.h"

#include <fmt/format.h>

namespace puna::formats {

namespace {

constexpr size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kSuffix = ".gguf";

std::optional<uint32_t> digits(std::string_view text) {
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

}  // namespace

std::optional<SplitName> parse_split_name(std::string_view path) {
  constexpr size_t kTailLength = 1 + kDigits + kOf.size() + kDigits + kSuffix.size();
  if (path.size() <= kTailLength || !path.ends_with(kSuffix)) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTailLength);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto number = digits(tail.substr(1, kDigits));
  const auto count = digits(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return SplitName{std::string(path.substr(0, path.size() - kTailLength)), *number, *count};
}

std::string split_path(std::string_view prefix, uint32_t number, uint32_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

}  // namespace puna::formats
