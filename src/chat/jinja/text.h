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

// Lines as str.splitlines() cuts them, without or with their ends.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

bool is_space(uint32_t code_point);      // str.isspace
bool is_letter(uint32_t code_point);     // str.isalpha
bool is_decimal(uint32_t code_point);    // str.isdecimal
bool is_word_part(uint32_t code_point);  // \w of a regular expression
bool is_printable(uint32_t code_point);  // str.isprintable
bool is_upper(uint32_t code_point);      // a capital, also one such as the first of "Dz"
bool is_lower(uint32_t code_point);
bool is_upper_text(std::string_view text);  // str.isupper: has capitals, and no other case
bool is_lower_text(std::string_view text);
// Trims white space, or the code points of `set` when it is not null.
std::string_view trim_left(std::string_view text, const std::string_view* set = nullptr);
std::string_view trim_right(std::string_view text, const std::string_view* set = nullptr);
std::string_view trim(std::string_view text, const std::string_view* set = nullptr);

// str.upper, lower, casefold, capitalize, title and swapcase, with characters that become several.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string case_folded(std::string_view text);
std::string capitalize(std::string_view text);  // the first character as a title's, the rest lower
std::string title_case(std::string_view text);  // letters after a non-letter upper, others lower
std::string swap_case(std::string_view text);

// `text` with the characters that HTML gives a meaning as entities, as escape() does.
std::string html_escaped(std::string_view text);

}  // namespace puna::chat::jinja
