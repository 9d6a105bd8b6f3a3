#include "api/base64.h"

#include <array>
#include <cstdint>
#include <string>

namespace puna::api {
namespace {

constexpr uint8_t kNone = 0xff;
constexpr std::string_view kLineEnds = "\r\n";

constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> out{};
  out.fill(kNone);
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kLetters.size(); ++i)
    out[static_cast<uint8_t>(kLetters[i])] = static_cast<uint8_t>(i);
  out['-'] = out['+'];
  out['_'] = out['/'];
  return out;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  std::string in_one_line;
  if (text.find_first_of(kLineEnds) != std::string_view::npos) {
    in_one_line = text;
    std::erase_if(in_one_line, [](char c) { return kLineEnds.contains(c); });
    text = in_one_line;
  }
  const bool padded = text.ends_with('=');
  if (padded && text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const uint8_t value = kValues[static_cast<uint8_t>(c)];
    if (value == kNone) return std::nullopt;
    bits = bits << 6 | value;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out.push_back(static_cast<std::byte>(bits >> n_bits & 0xff));
  }
  return out;
}

}  // namespace puna::api
