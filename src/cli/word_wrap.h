// Breaks the lines of a text that comes in pieces between its words, so that a terminal breaks
// none within one. A word is held back until its end is seen.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace puna::cli {

// Characters are read as UTF-8 from here on, whatever the terminal's language is set to: models
// read and write nothing else.
void use_utf8();

// How many columns of a terminal a character takes: 0 for marks above or below others, 2 for those
// of East Asia, 1 for others. Of the process's locale.
size_t columns_of_character(char32_t character);

class WordWrap {
 public:
  explicit WordWrap(size_t columns) : columns_(columns) {}  // 0: nothing is broken or held back

  // What may be printed now. A piece ends with a whole character.
  std::string add(std::string_view piece);
  // The rest.
  std::string end();

 private:
  void put_word(std::string& out);

  const size_t columns_;
  size_t at_ = 0;      // columns of the line that are printed
  std::string space_;  // white space before the word
  std::string word_;
  size_t word_columns_ = 0;
};

// The text as it is printed on `stream`: broken between words where that is a terminal, lines
// behind the first begin with `indent` spaces.
std::string wrapped(std::FILE* stream, std::string_view text, size_t indent = 0);

}  // namespace puna::cli
