#include "chat/jinja/text.h"

#include "base/utf8.h"

namespace puna::chat::jinja {
namespace {

constexpr uint32_t kInvalid = 0xFFFD;

bool in(uint32_t c, uint32_t first, uint32_t last) { return c >= first && c <= last; }

uint32_t upper(uint32_t c) {
  if (in(c, 'a', 'z') || (in(c, 0xE0, 0xFE) && c != 0xF7) || in(c, 0x3B1, 0x3C9) ||
      in(c, 0x430, 0x44F)) {
    return c == 0x3C2 ? 0x3A3 : c - 0x20;  // both small sigmas have one capital
  }
  if (in(c, 0x450, 0x45F)) return c - 0x50;
  return c;
}

uint32_t lower(uint32_t c) {
  if (in(c, 'A', 'Z') || (in(c, 0xC0, 0xDE) && c != 0xD7) || (in(c, 0x391, 0x3A9) && c != 0x3A2) ||
      in(c, 0x410, 0x42F)) {
    return c + 0x20;
  }
  if (in(c, 0x400, 0x40F)) return c + 0x50;
  return c;
}

// Rewrites every valid code point; invalid bytes pass.
template <class Rewrite>
std::string rewritten(std::string_view text, Rewrite&& rewrite) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const uint32_t now = rewrite(c.value);
    if (now == c.value) {
      out += text.substr(i, c.bytes);
    } else {
      append_utf8(out, now);
    }
    i += c.bytes;
  }
  return out;
}

bool strips(std::string_view piece, uint32_t value, const std::string_view* set) {
  if (!set) return is_space(value);
  for (size_t i = 0; i < set->size();) {
    const size_t bytes = code_point_at(*set, i).bytes;
    if (set->substr(i, bytes) == piece) return true;
    i += bytes;
  }
  return false;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const base::Utf8Unit unit = base::utf8_next(text, at);
  if (unit.code_point == base::kInvalidCodePoint) return {kInvalid, 1};
  return {static_cast<uint32_t>(unit.code_point), unit.bytes};
}

void append_utf8(std::string& out, uint32_t c) {
  base::utf8_append(out, c > 0x10FFFF || in(c, 0xD800, 0xDFFF) ? kInvalid : c);
}

int64_t count_code_points(std::string_view text) {
  int64_t n = 0;
  for (size_t i = 0; i < text.size(); i += code_point_at(text, i).bytes) ++n;
  return n;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = code_point_at(text, i).bytes;
    pieces.push_back(text.substr(i, bytes));
    i += bytes;
  }
  return pieces;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const size_t end = i;
    i += c.bytes;
    if (!in(c.value, 0x0A, 0x0D) && !in(c.value, 0x1C, 0x1E) && c.value != 0x85 &&
        !in(c.value, 0x2028, 0x2029))
      continue;
    if (c.value == '\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(start, end - start));
    start = i;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

bool is_space(uint32_t c) {
  return in(c, 0x09, 0x0D) || in(c, 0x1C, 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         in(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string_view trim_left(std::string_view text, const std::string_view* set) {
  while (!text.empty()) {
    const CodePoint c = code_point_at(text, 0);
    if (!strips(text.substr(0, c.bytes), c.value, set)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

std::string_view trim_right(std::string_view text, const std::string_view* set) {
  while (!text.empty()) {
    const size_t start = text.size() - base::utf8_previous_bytes(text, text.size());
    if (!strips(text.substr(start), code_point_at(text, start).value, set)) break;
    text = text.substr(0, start);
  }
  return text;
}

std::string_view trim(std::string_view text, const std::string_view* set) {
  return trim_right(trim_left(text, set), set);
}

std::string to_upper(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.value == 0xDF) {
      out += "SS";  // sharp s has no capital of its own
    } else {
      out += rewritten(text.substr(i, c.bytes), upper);
    }
    i += c.bytes;
  }
  return out;
}

std::string to_lower(std::string_view text) { return rewritten(text, lower); }

bool is_letter(uint32_t c) {
  return lower(c) != c || upper(c) != c || c == 0xDF || c == 0xAA || c == 0xBA;
}

std::string title_case(std::string_view text) {
  bool inside = false;
  return rewritten(text, [&](uint32_t c) {
    const uint32_t now = inside ? lower(c) : upper(c);
    inside = is_letter(c);
    return now;
  });
}

std::string capitalize(std::string_view text) {
  bool first = true;
  return rewritten(text, [&](uint32_t c) {
    const uint32_t now = first ? upper(c) : lower(c);
    first = false;
    return now;
  });
}

}  // namespace puna::chat::jinja
