// Strings as Python sees them: indexed by code point, trimmed of Unicode white space.
// Text is UTF-8; a byte that is not part of valid UTF-8 counts as one code point and is kept as it
// is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace puna::chat::jinja {

// The byte length of the code point at `text[at]`, and its value (0xFFFD for an invalid byte).
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
};
CodePoint code_point_at(std::string_view text, size_t at);
void append_utf8(std::string& out, uint32_t code_point);

int64_t count_code_points(std::string_view text);
// One view per code point.
std::vector<std::string_view> split_code_points(std::string_view text);

// Lines without their ends, as str.splitlines() cuts them.
std::vector<std::string_view> split_lines(std::string_view text);

bool is_space(uint32_t code_point);  // str.isspace
// Trims white space, or the code points of `set` when it is not null.
std::string_view trim_left(std::string_view text, const std::string_view* set = nullptr);
std::string_view trim_right(std::string_view text, const std::string_view* set = nullptr);
std::string_view trim(std::string_view text, const std::string_view* set = nullptr);

// Case of ASCII, Latin-1, Greek and Cyrillic letters; others are left as they are.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string capitalize(std::string_view text);  // first letter upper, the rest lower
std::string title_case(
    std::string_view text);           // str.title: letters after a non-letter upper, others lower
bool is_letter(uint32_t code_point);  // of the same scripts

}  // namespace puna::chat::jinja
