#include "store/modelfile_syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/utf8.h"

namespace puna::store {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kCommands[] = {"from",      "license", "template", "system",
                                          "adapter",   "draft",   "renderer", "parser",
                                          "parameter", "message", "requires"};
constexpr std::string_view kWrongCommand =
    R"(command must be one of "from", "license", "template", "system", "adapter", "draft", )"
    R"("renderer", "parser", "parameter", "message", or "requires")";
constexpr std::string_view kRoles[] = {"system", "user", "assistant"};

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_newline(char c) { return c == '\n' || c == '\r'; }
bool is_blank(char c) { return is_space(c) || is_newline(c) || c == '\v' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_name(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many quotes hold a value together: 3, 1 or none.
size_t quotes_of(std::string_view value) {
  return value.starts_with(R"(""")") ? 3 : value.starts_with('"') ? 1 : 0;
}

// Whether the quotes that a value begins with are closed at its end.
bool is_closed(std::string_view value) {
  const size_t n = quotes_of(value);
  return n == 0 || (value.size() >= 2 * n && value.ends_with(n == 3 ? R"(""")" : "\""));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<ModelfileCommand>> run() {
    std::vector<ModelfileCommand> out;
    while (true) {
      while (at_ < text_.size() && (is_space(text_[at_]) || is_newline(text_[at_]))) advance();
      if (at_ == text_.size()) return out;
      if (text_[at_] == '#') {
        while (at_ < text_.size() && !is_newline(text_[at_])) advance();
        continue;
      }
      PUNA_TRY(ModelfileCommand next, command());
      out.push_back(std::move(next));
    }
  }

 private:
  std::unexpected<base::Error> fail(int line, std::string_view what) const {
    return fail_at_line(line, ErrorCode::kInvalidArgument, what);
  }

  void advance() {
    const bool pair = text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
    if (is_newline(text_[at_]) && !pair) ++line_;
    ++at_;
  }

  template <class Fits>
  std::string word(Fits&& fits) {
    const size_t begin = at_;
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // What separates a word from what follows; false: there is nothing.
  bool gap() {
    if (at_ == text_.size() || !is_space(text_[at_])) return false;
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return true;
  }

  Result<ModelfileCommand> command() {
    ModelfileCommand out{.line = line_};
    out.name = word(is_letter);
    std::ranges::transform(out.name, out.name.begin(), lower);
    if (std::ranges::find(kCommands, out.name) == std::end(kCommands))
      return fail(line_, kWrongCommand);
    if (!gap()) return fail(line_, fmt::format("{} has no value; {}", out.name, kWrongCommand));
    if (out.name == "parameter") {
      out.detail = word(is_of_name);
      if (!has_readable_detail(out) || !gap())
        return fail(line_, "a parameter is a name and a value");
    } else if (out.name == "message") {
      out.detail = word(is_letter);
      if (!has_readable_detail(out)) {
        return fail(line_, R"(message role must be one of "system", "user", or "assistant")");
      }
      if (!gap()) return fail(line_, "a message is a role and a text");
    }
    PUNA_TRY(out.value, value());
    return out;
  }

  // From here to the first end of a line at which no quotes are open.
  Result<std::string> value() {
    const int line = line_;
    while (at_ < text_.size() && is_blank(text_[at_]) && !is_newline(text_[at_])) ++at_;
    const size_t begin = at_;
    size_t end = at_;  // behind the last that is not blank
    while (true) {
      const std::string_view so_far = text_.substr(begin, end - begin);
      const bool ends = at_ == text_.size();
      if ((ends || is_newline(text_[at_])) && is_closed(so_far)) {
        const size_t n = quotes_of(so_far);
        return std::string(so_far.substr(n, so_far.size() - 2 * n));
      }
      if (ends) return fail(line, "unexpected EOF: the quotes that open here are not closed");
      if (!is_blank(text_[at_])) end = at_ + 1;
      advance();
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// Whether a written value is read as it was meant.
bool reads_as(const std::string& written, std::string_view value) {
  const auto commands = read_commands("system " + written + "\n");
  return commands && commands->size() == 1 && (*commands)[0].value == value;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

Result<std::string> from_utf16(std::string_view bytes, bool big_endian) {
  std::string out;
  int line = 1;
  const auto unit = [&](size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<char32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  for (size_t at = 0; at < bytes.size(); at += 2) {
    const auto wrong = [&] {
      return fail_at_line(line, ErrorCode::kInvalidArgument, "the text is no UTF-16");
    };
    if (at + 1 == bytes.size()) return wrong();
    char32_t code_point = unit(at);
    if (code_point >= 0xD800 && code_point < 0xE000) {
      if (code_point >= 0xDC00 || at + 3 >= bytes.size()) return wrong();
      const char32_t low = unit(at += 2);
      if (low < 0xDC00 || low >= 0xE000) return wrong();
      code_point = 0x10000 + ((code_point - 0xD800) << 10 | (low - 0xDC00));
    }
    line += code_point == '\n' ? 1 : 0;
    base::utf8_append(out, code_point);
  }
  return out;
}

// CR LF as LF, if no line ends otherwise.
std::string with_line_feeds(std::string text) {
  const auto n_lines = std::ranges::count(text, '\n');
  ptrdiff_t n_pairs = 0;
  for (size_t at = text.find("\r\n"); at != text.npos; at = text.find("\r\n", at + 2)) ++n_pairs;
  if (n_pairs == 0 || n_pairs != n_lines) return text;
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  }
  return out;
}

}  // namespace

std::unexpected<base::Error> fail_at_line(int line, ErrorCode code, std::string_view what) {
  return base::fail(code, fmt::format("(line {}): {}", line, what));
}

Result<std::string> decode_modelfile(std::string_view bytes) {
  std::string text;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    PUNA_TRY(text, from_utf16(bytes.substr(2), bytes.starts_with("\xFE\xFF")));
  } else {
    text = bytes.substr(bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  }
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    if (unit.code_point == base::kInvalidCodePoint)
      return fail_at_line(line, ErrorCode::kInvalidArgument, "the text is no UTF-8");
    if (unit.code_point == 0)
      return fail_at_line(line, ErrorCode::kInvalidArgument, "a NUL character stands in the text");
    line += unit.code_point == '\n' ? 1 : 0;
    at += unit.bytes;
  }
  return with_line_feeds(std::move(text));
}

Result<std::vector<ModelfileCommand>> read_commands(std::string_view text) {
  return Reader(text).run();
}

bool has_readable_detail(const ModelfileCommand& command) {
  const std::string& detail = command.detail;
  if (command.name == "parameter")
    return !detail.empty() && std::ranges::all_of(detail, is_of_name);
  if (command.name == "message") return std::ranges::find(kRoles, detail) != std::end(kRoles);
  return detail.empty();
}

Result<std::string> write_command(const ModelfileCommand& command) {
  if (!has_readable_detail(command)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("A Modelfile has no way to write this {} of {}: {}",
                                  command.name == "message" ? "role" : "name", upper(command.name),
                                  base::printable(command.detail.substr(0, 100))));
  }
  const std::string& value = command.value;
  const std::string once = "\"" + value + "\"";
  const std::string thrice = R"(""")" + value + R"(""")";
  const bool has_quotes = value.find('"') != std::string::npos;
  std::string head = upper(command.name) + " ";
  if (!command.detail.empty()) head += command.detail + " ";
  if (!value.empty() && reads_as(value, value)) return head + value + "\n";
  for (const std::string& written : {has_quotes ? thrice : once, has_quotes ? once : thrice}) {
    if (reads_as(written, value)) return head + written + "\n";
  }
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("A Modelfile has no way to write this value of {}, as quotes end one "
                  "of its lines: {}",
                  upper(command.name), base::printable(value.substr(0, 100))));
}

}  // namespace puna::store
