// Inside grammar/: what escapes of regular expressions stand for, and what is known and refused.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tokenizer/regex/char_set.h"

namespace puna::grammar::regex_tables {

using tokenizer::CharSet;

inline CharSet set_of(std::initializer_list<CharSet::Range> ranges) {
  CharSet out;
  for (const auto& range : ranges) out.add(CharSet(range.low, range.high));
  return out;
}

inline CharSet negated(CharSet set) {
  set.negate();
  return set;
}

inline CharSet digits() { return set_of({{'0', '9'}}); }
inline CharSet word() { return set_of({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); }
inline CharSet white_space() {
  return set_of({{'\t', '\r'},
                 {' ', ' '},
                 {0xA0, 0xA0},
                 {0x1680, 0x1680},
                 {0x2000, 0x200A},
                 {0x2028, 0x2029},
                 {0x202F, 0x202F},
                 {0x205F, 0x205F},
                 {0x3000, 0x3000},
                 {0xFEFF, 0xFEFF}});
}
inline CharSet line_ends() { return set_of({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

// Escapes of one letter that stand for a class.
struct ClassRow {
  char letter;
  CharSet (*set)();
  bool negated;
};
inline constexpr ClassRow kClasses[] = {{'d', digits, false},      {'D', digits, true},
                                        {'w', word, false},        {'W', word, true},
                                        {'s', white_space, false}, {'S', white_space, true}};

struct CharacterRow {
  char letter;
  char32_t character;
};
inline constexpr CharacterRow kControlCharacters[] = {
    {'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}, {'e', 0x1B}};

// What begins so is known and refused.
struct RefusedRow {
  std::string_view begin;
  const char* name;
};
inline constexpr RefusedRow kRefused[] = {
    {"(?=", "Look-ahead (?="},
    {"(?!", "Look-ahead (?!"},
    {"(?<=", "Look-behind (?<="},
    {"(?<!", "Look-behind (?<!"},
    {"(?>", "An atomic group (?>"},
    {"(?P=", "A back-reference (?P="},
    {"(?P>", "A subexpression call (?P>"},
    {"(?&", "A subexpression call (?&"},
    {"(?R", "A subexpression call (?R"},
    {"(?#", "A comment (?#"},
    {"(?|", "A branch reset (?|"},
    {"(?(", "A conditional (?("},
    {"(*", "A verb (*"},
    {"\\b", "A word boundary \\b"},
    {"\\B", "A word boundary \\B"},
    {"\\k", "A back-reference \\k"},
    {"\\g", "A back-reference \\g"},
    {"\\G", "The anchor \\G"},
    {"\\K", "The reset \\K"},
    {"\\X", "A grapheme \\X"},
    {"\\R", "The line end \\R"},
    {"\\Q", "The quotation \\Q"},
};

}  // namespace puna::grammar::regex_tables
