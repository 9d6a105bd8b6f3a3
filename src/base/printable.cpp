#include "base/printable.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace puna::base {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

bool is_direction_mark(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool is_line_separator(char32_t c) { return c == 0x2028 || c == 0x2029; }

bool stays(char32_t c, Keep keep) {
  if (c == '\n' || c == '\t') return keep != Keep::kNothing;
  if (is_control(c)) return false;
  if (is_direction_mark(c)) return keep == Keep::kText;
  return keep != Keep::kNothing || !is_line_separator(c);
}

}  // namespace

std::string printable(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = utf8_next(text, at);
    const std::string_view bytes = text.substr(at, unit.bytes);
    at += unit.bytes;
    if (unit.code_point == kInvalidCodePoint && keep == Keep::kText) {
      utf8_append(out, kReplacement);
    } else if (unit.code_point == kInvalidCodePoint) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    } else if (stays(unit.code_point, keep)) {
      out += bytes;
    } else if (unit.code_point == '\r' && keep != Keep::kNothing && text.substr(at, 1) == "\n") {
      // A line that ends as on Windows.
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(unit.code_point));
    }
  }
  return out;
}

}  // namespace puna::base
