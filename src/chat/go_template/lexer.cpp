#include "chat/go_template/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/printable.h"
#include "base/utf8.h"
#include "chat/go_template/ast.h"

namespace puna::chat::go_template {

using base::ErrorCode;
using base::Result;

namespace {

using Kind = Token::Kind;

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Letters beyond ASCII are not told apart from other signs there: no name of ollama's has any.
bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    bool trims = false;  // the action before ended with -}}
    while (true) {
      const size_t open = source_.find("{{", at_);
      std::string_view text = source_.substr(at_, open == source_.npos ? open : open - at_);
      const int line = line_;
      advance(text.size());
      const bool trims_right = open != source_.npos && starts("{{-") && at_ + 3 < source_.size() &&
                               is_space(source_[at_ + 3]);
      add_text(text, line, trims, trims_right);
      if (open == source_.npos) break;
      PUNA_TRY(trims, action(trims_right ? 3 : 2));
    }
    add(Kind::kEof);
    return std::move(tokens_);
  }

 private:
  void advance(size_t n) {
    line_ += static_cast<int>(std::ranges::count(source_.substr(at_, n), '\n'));
    at_ += n;
  }
  bool starts(std::string_view what) const { return source_.substr(at_).starts_with(what); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void add(Kind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .line = line_, .spaced = spaced_, .text = std::move(text)});
    spaced_ = false;
  }
  std::unexpected<base::Error> fail(std::string_view what) const {
    return fail_at(line_, ErrorCode::kInvalidArgument, what);
  }

  void add_text(std::string_view text, int line, bool trims_left, bool trims_right) {
    if (trims_left) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (trims_right) text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    if (text.empty()) return;
    tokens_.push_back(
        {.kind = Kind::kText, .line = line, .spaced = false, .text = std::string(text)});
  }

  // How long the closing mark here is; 0: there is none. Sets whether it trims.
  size_t closing(bool& trims) const {
    trims = is_space(peek()) && source_.substr(at_ + 1).starts_with("-}}");
    if (trims) return 4;
    return starts("}}") ? 2 : 0;
  }

  // From the opening mark, `n` bytes, to behind the closing one. Returns whether that trims.
  Result<bool> action(size_t n) {
    const int opened = line_;
    advance(n);
    bool trims = false;
    const size_t gap = n == 3 ? 1 : 0;
    if (source_.substr(at_ + gap).starts_with("/*")) {
      advance(gap + 2);
      const size_t end = source_.find("*/", at_);
      if (end == source_.npos)
        return fail_at(opened, ErrorCode::kInvalidArgument, "a comment does not end");
      advance(end + 2 - at_);
      const size_t close = closing(trims);
      if (close == 0) return fail("a comment ends before the }} that closes it");
      advance(close);
      return trims;
    }
    spaced_ = true;
    add(Kind::kBegin);
    spaced_ = true;
    while (true) {
      if (at_ >= source_.size())
        return fail_at(opened, ErrorCode::kInvalidArgument,
                       "an action does not end: no }} follows");
      if (const size_t close = closing(trims); close > 0) {
        add(Kind::kEnd);
        advance(close);
        return trims;
      }
      if (is_space(peek())) {
        advance(1);
        spaced_ = true;
        continue;
      }
      PUNA_TRY(token());
    }
  }

  std::string word() {
    const size_t begin = at_;
    while (at_ < source_.size() && is_word(source_[at_])) ++at_;
    return std::string(source_.substr(begin, at_ - begin));
  }

  Result<void> token() {
    const char c = peek();
    if (c == '"') return quoted('"');
    if (c == '\'') return quoted('\'');
    if (c == '`') return raw();
    if (starts(":=")) {
      add(Kind::kSign, ":=");
      at_ += 2;
      return {};
    }
    if (std::string_view("()|,=").find(c) != std::string_view::npos) {
      add(Kind::kSign, std::string(1, c));
      ++at_;
      return {};
    }
    const bool signed_number = (c == '+' || c == '-') && (is_digit(peek(1)) || peek(1) == '.');
    if (is_digit(c) || signed_number || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '.') {
      ++at_;
      if (is_word(peek())) return named(Kind::kField);
      add(Kind::kDot);
      return {};
    }
    if (c == '$') {
      ++at_;
      return named(Kind::kVariable);
    }
    if (is_word(c)) return named(Kind::kName);
    const base::Utf8Unit unit = base::utf8_next(source_, at_);
    return fail(fmt::format("\"{}\" cannot stand in an action",
                            base::printable(source_.substr(at_, unit.bytes))));
  }

  // A word, and what must end it.
  Result<void> named(Kind kind) {
    std::string text = word();
    const char next = peek();
    bool trims = false;
    const bool ends = at_ >= source_.size() || is_space(next) || closing(trims) > 0 ||
                      std::string_view(".,|:=()").find(next) != std::string_view::npos;
    if (!ends) {
      const base::Utf8Unit unit = base::utf8_next(source_, at_);
      return fail(fmt::format("\"{}\" cannot follow \"{}\"",
                              base::printable(source_.substr(at_, unit.bytes)), text));
    }
    add(kind, std::move(text));
    return {};
  }

  Result<void> number() {
    const size_t begin = at_;
    if (peek() == '+' || peek() == '-') ++at_;
    const auto exponent = [&](char sign) {
      const char before = source_[at_ - 1];
      return (sign == '+' || sign == '-') && (before == 'e' || before == 'E');
    };
    while (at_ < source_.size() &&
           (is_word(source_[at_]) || source_[at_] == '.' || exponent(source_[at_])))
      ++at_;
    add(Kind::kNumber, std::string(source_.substr(begin, at_ - begin)));
    return {};
  }

  Result<void> raw() {
    const size_t end = source_.find('`', at_ + 1);
    if (end == source_.npos) return fail("a raw string does not end");
    std::string text(source_.substr(at_ + 1, end - at_ - 1));
    std::erase(text, '\r');  // as Go has it
    add(Kind::kString, std::move(text));
    advance(end + 1 - at_);
    return {};
  }

  // "text" or 'c', with Go's escapes.
  Result<void> quoted(char quote) {
    std::string text;
    for (++at_;;) {
      const char c = peek();
      if (at_ >= source_.size() || c == '\n') {
        return fail(quote == '"' ? "a string does not end on its line"
                                 : "a character does not end on its line");
      }
      if (c == quote) break;
      if (c != '\\') {
        text += c;
        ++at_;
        continue;
      }
      ++at_;
      PUNA_TRY(escape(text, quote));
    }
    ++at_;
    if (quote == '"') {
      add(Kind::kString, std::move(text));
      return {};
    }
    const base::Utf8Unit unit =
        text.empty() ? base::Utf8Unit{base::kInvalidCodePoint, 0} : base::utf8_next(text, 0);
    if (unit.bytes != text.size() || unit.code_point == base::kInvalidCodePoint)
      return fail("between ' and ' one character is expected");
    add(Kind::kNumber, fmt::format("{}", static_cast<uint32_t>(unit.code_point)));
    return {};
  }

  // What stands behind a backslash.
  Result<void> escape(std::string& text, char quote) {
    constexpr std::string_view kLetters = "abfnrtv\\";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\";
    const char c = peek();
    const size_t plain = kLetters.find(c);
    if (at_ < source_.size() && (plain != kLetters.npos || c == quote)) {
      text += c == quote ? quote : kMeanings[plain];
      ++at_;
      return {};
    }
    const bool octal = c >= '0' && c <= '7';
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : octal ? 3 : 0;
    const int base = octal ? 8 : 16;
    const std::string_view code =
        source_.substr(octal ? at_ : std::min(at_ + 1, source_.size()), digits);
    const auto is_code = [&](char d) {
      return octal ? d >= '0' && d <= '7'
                   : is_digit(d) || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
    };
    if (digits == 0 || code.size() != digits || !std::ranges::all_of(code, is_code))
      return fail("a backslash in a string is followed by what is no escape of Go");
    uint32_t value = 0;
    std::from_chars(code.data(), code.data() + code.size(), value, base);
    if ((octal && value > 255) || value > 0x10FFFF ||
        (digits > 3 && value >= 0xD800 && value < 0xE000))
      return fail("an escape in a string stands for no character");
    if (digits > 3) {
      base::utf8_append(text, static_cast<char32_t>(value));
    } else {
      text += static_cast<char>(value);
    }
    at_ += digits + (octal ? 0 : 1);
    return {};
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool spaced_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace puna::chat::go_template
