#include "cli/word_wrap.h"

#include <langinfo.h>

#include <clocale>
#include <cwchar>
#include <utility>

#include "base/utf8.h"
#include "cli/terminal.h"

namespace puna::cli {

void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

size_t columns_of_character(char32_t character) {
  if (character < 0x20) return 0;
  if (character < 0x7F) return 1;
  const int width = wcwidth(static_cast<wchar_t>(character));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

std::string WordWrap::add(std::string_view piece) {
  if (columns_ == 0) return std::string(piece);
  std::string out;
  for (size_t at = 0; at < piece.size();) {
    const base::Utf8Unit unit = base::utf8_next(piece, at);
    const std::string_view bytes = piece.substr(at, unit.bytes);
    at += unit.bytes;
    if (bytes == "\n") {
      put_word(out);
      out += bytes;
      at_ = 0;
    } else if (bytes == " ") {
      put_word(out);
      space_ += bytes;
    } else {
      const size_t columns = columns_of_character(unit.code_point);
      const bool wide = columns > 1;
      if (wide) put_word(out);  // a line may break on either side
      // One that is wider than the terminal is broken where that breaks it.
      if (word_columns_ + columns > columns_) put_word(out);
      word_ += bytes;
      word_columns_ += columns;
      if (wide) put_word(out);
    }
  }
  return out;
}

void WordWrap::put_word(std::string& out) {
  if (word_.empty()) {
    // At the end of a line nobody sees it.
    if (at_ + space_.size() <= columns_) {
      out += space_;
      at_ += space_.size();
    }
    space_.clear();
    return;
  }
  if (at_ > 0 && at_ + space_.size() + word_columns_ > columns_) {
    out += '\n';
    at_ = 0;
    space_.clear();
  }
  at_ += space_.size() + std::exchange(word_columns_, 0);
  out += std::exchange(space_, {});
  out += std::exchange(word_, {});
}

std::string WordWrap::end() {
  std::string out;
  if (columns_ == 0) return out;
  put_word(out);
  at_ = 0;
  return out;
}

std::string wrapped(std::FILE* stream, std::string_view text, size_t indent) {
  const size_t columns = columns_of(stream);
  WordWrap wrap(columns > 2 * indent ? columns - indent : columns);
  std::string out = wrap.add(text);
  out += wrap.end();
  const std::string space(indent, ' ');
  for (size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at + 1)) {
    if (at + 1 < out.size()) out.insert(at + 1, space);
  }
  return out;
}

}  // namespace puna::cli
