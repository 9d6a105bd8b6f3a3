#include "store/digest.h"

#include <fmt/format.h>

namespace puna::store {

base::Result<Digest> Digest::parse(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  if (text.starts_with(kPrefix)) {
    if (const auto digest = from_hex(text.substr(kPrefix.size()))) return *digest;
  }
  return base::fail(
      base::ErrorCode::kInvalidArgument,
      fmt::format("The digest \"{}\" is not \"sha256:\" and 64 lower-case hex digits.",
                  text.substr(0, 100)));
}

std::string Digest::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (const uint8_t byte : bytes_) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace puna::store
