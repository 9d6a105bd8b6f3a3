#include "tokenizer/python_literal.h"

#include <fmt/format.h>

#include "base/hex.h"
#include "base/utf8.h"

namespace puna::tokenizer {

namespace {

// What may stand behind a backslash, and for what; of x, u and U so many hexadecimal digits follow.
constexpr std::string_view kEscapes = "tnr\\'\"", kEscaped = "\t\n\r\\'\"";
constexpr std::string_view kNumbered = "xuU";
constexpr size_t kDigits[] = {2, 4, 8};

// The number that `text` begins with; Python writes small letters.
std::optional<uint32_t> hexadecimal(std::string_view text, size_t n_digits) {
  if (text.size() < n_digits) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text.substr(0, n_digits)) {
    const int digit = base::hex_digit(c);
    if (digit < 0 || (c >= 'A' && c <= 'F')) return std::nullopt;
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  return value;
}

}  // namespace

std::optional<std::string> read_python_literal(std::string_view literal, bool is_bytes) {
  std::string out;
  for (size_t at = 0; at < literal.size(); ++at) {
    if (literal[at] != '\\') {
      out.push_back(literal[at]);
      continue;
    }
    if (++at == literal.size()) return std::nullopt;
    if (const size_t known = kEscapes.find(literal[at]); known != std::string_view::npos) {
      out.push_back(kEscaped[known]);
      continue;
    }
    const size_t kind = kNumbered.find(literal[at]);
    if (kind == std::string_view::npos || (is_bytes && kind > 0)) return std::nullopt;
    const auto value = hexadecimal(literal.substr(at + 1), kDigits[kind]);
    if (!value) return std::nullopt;
    at += kDigits[kind];
    if (is_bytes) {
      out.push_back(static_cast<char>(*value));
    } else {
      if (*value > 0x10FFFF || (*value >= 0xD800 && *value < 0xE000)) return std::nullopt;
      base::utf8_append(out, static_cast<char32_t>(*value));
    }
  }
  return out;
}

std::string python_bytes(std::string_view bytes) {
  const bool quotes = bytes.find('"') != std::string_view::npos;
  std::string out;
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\' && !(c == '\'' && quotes);
    if (plain) {
      out.push_back(c);
    } else if (const size_t known = kEscaped.find(c); known != std::string_view::npos) {
      out += {'\\', kEscapes[known]};
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace puna::tokenizer
