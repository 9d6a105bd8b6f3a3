#include "chat/jinja/lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::Result;
using Kind = Token::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

// One kind of line end, and none at the end of the template (Jinja's keep_trailing_newline is off).
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run();

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool starts(std::string_view text) const { return rest().starts_with(text); }
  Position position();
  void add(Kind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .at = position(), .text = std::move(text)});
  }
  void skip_space();
  void add_text(std::string_view text, char sign, bool lstrips);
  void end_block_tag(bool newline_may_go);

  Result<void> comment();
  Result<bool> raw();
  Result<void> tag(bool block);
  Result<void> token();
  Result<void> string_literal();
  Result<void> number_literal();
  Result<void> escape(std::string& out);

  std::string source_;
  size_t at_ = 0;
  bool line_starting_ = true;  // the last tag ended its line, or none came yet
  std::string open_brackets_;  // inside a tag
  std::vector<Token> tokens_;
  size_t seen_ = 0;  // up to where seen_position_ counts
  Position seen_position_;
};

Position Lexer::position() {
  while (seen_ < at_) {
    const CodePoint c = code_point_at(source_, seen_);
    if (c.value == '\n') {
      ++seen_position_.line;
      seen_position_.column = 1;
    } else {
      ++seen_position_.column;
    }
    seen_ += c.bytes;
  }
  return seen_position_;
}

void Lexer::skip_space() {
  const std::string_view left = trim_left(rest());
  at_ = source_.size() - left.size();
}

// Adds the text before a tag that starts with `sign` ('-', '+' or 0). A block or comment alone so
// far on its line takes the white space before it along.
void Lexer::add_text(std::string_view text, char sign, bool lstrips) {
  if (sign == '-') {
    text = trim_right(text);
  } else if (sign != '+' && lstrips) {
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if ((line > 0 || line_starting_) && trim_left(text.substr(line)).empty())
      text = text.substr(0, line);
  }
  if (!text.empty()) add(Kind::kText, std::string(text));
}

// After the end of a block or comment, its sign read: '-' takes all white space, '+' nothing, else
// one line end goes.
void Lexer::end_block_tag(bool newline_may_go) {
  if (newline_may_go && starts("\n")) ++at_;
  line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
}

Result<std::vector<Token>> Lexer::run() {
  while (at_ < source_.size()) {
    size_t brace = at_;
    const auto is_tag = [&](size_t i) {
      return i + 1 < source_.size() &&
             (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#');
    };
    while ((brace = source_.find('{', brace)) != std::string::npos && !is_tag(brace)) ++brace;
    if (brace == std::string::npos) {
      add_text(rest(), 0, /*lstrips=*/false);
      at_ = source_.size();
      break;
    }
    const char kind = source_[brace + 1];
    const char next = brace + 2 < source_.size() ? source_[brace + 2] : '\0';
    const char sign = next == '-' || next == '+' ? next : '\0';
    add_text(std::string_view(source_).substr(at_, brace - at_), sign, /*lstrips=*/kind != '{');
    at_ = brace;
    if (kind == '#') {
      PUNA_TRY(comment());
    } else if (kind == '{') {
      PUNA_TRY(tag(/*block=*/false));
    } else {
      PUNA_TRY(const bool was_raw, raw());
      if (!was_raw) PUNA_TRY(tag(/*block=*/true));
    }
  }
  add(Kind::kEnd);
  return std::move(tokens_);
}

Result<void> Lexer::comment() {
  const Position start = position();
  at_ += 2;
  if (starts("-") || starts("+")) ++at_;
  const size_t end = source_.find("#}", at_);
  if (end == std::string::npos)
    return fail_at(start, ErrorCode::kInvalidArgument, "the comment is not closed by \"#}\"");
  const char sign = end > at_ ? source_[end - 1] : '\0';
  at_ = end + 2;
  if (sign == '-') skip_space();
  end_block_tag(/*newline_may_go=*/sign != '-' && sign != '+');
  return {};
}

// {% raw %} up to {% endraw %}; false when the tag here is another.
Result<bool> Lexer::raw() {
  const size_t start = at_;
  const Position position_of_start = position();
  const auto word =
      [&](std::string_view name) {  // at_ behind "{%": reads sign, name and the end of the tag
        if (starts("-") || starts("+")) ++at_;
        skip_space();
        if (!starts(name)) return false;
        at_ += name.size();
        skip_space();
        return starts("%}") || starts("-%}") || starts("+%}");
      };
  at_ += 2;
  if (!word("raw") || starts("+")) {
    at_ = start;
    return false;
  }
  const bool trims = starts("-");
  at_ += trims ? 3 : 2;
  if (trims) skip_space();
  line_starting_ = source_[at_ - 1] == '\n';
  const size_t body = at_;
  for (size_t tag = body; (tag = source_.find("{%", tag)) != std::string::npos; tag += 2) {
    at_ = tag + 2;
    const char sign = starts("-") || starts("+") ? source_[at_] : '\0';
    if (!word("endraw")) continue;
    const char end_sign = starts("%}") ? '\0' : source_[at_];
    const size_t behind = at_ + (end_sign ? 3 : 2);
    at_ = body;
    add_text(std::string_view(source_).substr(body, tag - body), sign, /*lstrips=*/true);
    at_ = behind;
    if (end_sign == '-') skip_space();
    end_block_tag(/*newline_may_go=*/end_sign == '\0');
    return true;
  }
  return fail_at(position_of_start, ErrorCode::kInvalidArgument,
                 "the raw block is not closed by \"{% endraw %}\"");
}

Result<void> Lexer::tag(bool block) {
  const Position start = position();
  const std::string_view close = block ? "%}" : "}}";
  add(block ? Kind::kBlockBegin : Kind::kOutputBegin);
  at_ += 2;
  if (starts("-") || starts("+")) ++at_;
  open_brackets_.clear();
  while (true) {
    skip_space();
    if (at_ == source_.size()) {
      return fail_at(start, ErrorCode::kInvalidArgument,
                     fmt::format("the tag is not closed by \"{}\"", close));
    }
    if (open_brackets_.empty()) {
      const bool minus = starts("-") && rest().substr(1).starts_with(close);
      const bool plus = block && starts("+") && rest().substr(1).starts_with(close);
      if (minus || plus || starts(close)) {
        add(block ? Kind::kBlockEnd : Kind::kOutputEnd);
        at_ += minus || plus ? 3 : 2;
        if (minus) skip_space();
        end_block_tag(/*newline_may_go=*/block && !minus && !plus);
        return {};
      }
    }
    PUNA_TRY(token());
  }
}

Result<void> Lexer::token() {
  const char c = source_[at_];
  if (is_digit(c)) return number_literal();
  if (c == '\'' || c == '"') return string_literal();
  if (is_name_start(c)) {
    size_t end = at_;
    while (end < source_.size() && is_name_part(source_[end])) ++end;
    add(Kind::kName, source_.substr(at_, end - at_));
    at_ = end;
    return {};
  }
  for (const std::string_view op : {"//", "**", "==", "!=", ">=", "<="}) {
    if (!starts(op)) continue;
    add(Kind::kOperator, std::string(op));
    at_ += 2;
    return {};
  }
  if (std::string_view("+-*/%~[](){}<>=.:|,;").find(c) == std::string_view::npos) {
    const std::string_view shown = rest().substr(0, code_point_at(source_, at_).bytes);
    return fail_at(position(), ErrorCode::kInvalidArgument,
                   fmt::format("unexpected character \"{}\"", shown));
  }
  if (c == '(' || c == '[' || c == '{') open_brackets_ += c;
  if (c == ')' || c == ']' || c == '}') {
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (!open_brackets_.ends_with(wanted)) {
      return fail_at(position(), ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" closes nothing", c));
    }
    open_brackets_.pop_back();
  }
  add(Kind::kOperator, std::string(1, c));
  ++at_;
  return {};
}

Result<void> Lexer::number_literal() {
  const Position start = position();
  size_t end = at_;
  std::string digits;
  bool is_float = false;
  int base = 10;
  const auto take = [&](auto&& accepts) {
    while (end < source_.size() && (accepts(source_[end]) || source_[end] == '_')) {
      if (source_[end] != '_') digits += source_[end];
      ++end;
    }
  };
  const char second = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
  if (source_[at_] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
    base = second == 'x' ? 16 : second == 'o' ? 8 : 2;
    end += 2;
    take([](char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); });
  } else {
    // After a dot the digits are an index (a.0.1), never a fraction.
    const bool index = !tokens_.empty() && tokens_.back().is_operator(".");
    take(is_digit);
    if (!index && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_float = true;
      digits += source_[end++];
      take(is_digit);
    }
    const auto at = [&](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
    const size_t exponent = at(end + 1) == '+' || at(end + 1) == '-' ? end + 2 : end + 1;
    if (!index && (at(end) | 0x20) == 'e' && is_digit(at(exponent))) {
      is_float = true;
      digits.append(source_, end, exponent - end);
      end = exponent;
      take(is_digit);
    }
  }
  Token token{.kind = is_float ? Kind::kFloat : Kind::kInteger,
              .at = start,
              .text = source_.substr(at_, end - at_)};
  const char* last = digits.data() + digits.size();
  if (is_float) {
    token.number = std::strtod(digits.c_str(), nullptr);
  } else if (const auto [stop, error] = std::from_chars(digits.data(), last, token.integer, base);
             error != std::errc() || stop != last) {
    return fail_at(start, ErrorCode::kInvalidArgument,
                   fmt::format("{} is no integer of 64 bits", token.text));
  }
  tokens_.push_back(std::move(token));
  at_ = end;
  return {};
}

Result<void> Lexer::string_literal() {
  const Position start = position();
  const char quote = source_[at_++];
  std::string text;
  while (at_ < source_.size() && source_[at_] != quote) {
    if (source_[at_] == '\\') {
      PUNA_TRY(escape(text));
    } else {
      text += source_[at_++];
    }
  }
  if (at_ == source_.size())
    return fail_at(start, ErrorCode::kInvalidArgument, "the string is not closed");
  ++at_;
  tokens_.push_back({.kind = Kind::kString, .at = start, .text = std::move(text)});
  return {};
}

// One backslash escape, as Python reads them; an unknown one stands for itself.
Result<void> Lexer::escape(std::string& out) {
  const Position start = position();
  const char c = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
  const auto number = [&](size_t from, size_t digits, int base) -> int64_t {
    uint32_t value = 0;
    if (from + digits > source_.size()) return -1;
    const char* first = source_.data() + from;
    const auto [end, error] = std::from_chars(first, first + digits, value, base);
    return error == std::errc() && end == first + digits ? int64_t{value} : -1;
  };
  static constexpr std::string_view kKnown = "\\'\"abfnrtv\n";
  static constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";
  if (const size_t known = kKnown.find(c); c != '\0' && known != std::string_view::npos) {
    if (c != '\n') out += kMeaning[known];  // a backslash before a line end joins the lines
    at_ += 2;
  } else if (c == 'x' || c == 'u' || c == 'U') {
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    int64_t value = number(at_ + 2, digits, 16);
    if (value < 0 || value > 0x10FFFF) {
      return fail_at(start, ErrorCode::kInvalidArgument,
                     fmt::format("\"\\{}\" wants {} hex digits of a character", c, digits));
    }
    at_ += 2 + digits;
    if (value >= 0xD800 && value < 0xDC00 && starts("\\u")) {  // the first half of a pair
      const int64_t second = number(at_ + 2, 4, 16);
      if (second >= 0xDC00 && second < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (second - 0xDC00);
        at_ += 6;
      }
    }
    append_utf8(out, static_cast<uint32_t>(value));
  } else if (c >= '0' && c <= '7') {
    uint32_t value = 0;
    for (at_ += 1; at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7' && value < 64;
         ++at_) {
      value = value * 8 + static_cast<uint32_t>(source_[at_] - '0');
    }
    append_utf8(out, value);
  } else {
    out += source_[at_++];
  }
  return {};
}

}  // namespace

std::unexpected<base::Error> fail_at(Position at, ErrorCode code, std::string_view what) {
  return base::fail(code, fmt::format("Line {}, column {}: {}.", at.line, at.column, what));
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(normalized(source)).run();
}

}  // namespace puna::chat::jinja
