// text.format(...). Source: Python's "Format String Syntax".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "chat/jinja/builtins.h"
#include "chat/jinja/format.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class BraceFormat {
 public:
  BraceFormat(Evaluator& evaluator, const Arguments& arguments, bool escapes)
      : evaluator_(evaluator), arguments_(arguments), escapes_(escapes) {}

  // A field may stand in the format of a field, and one in its own; no deeper.
  Result<std::string> run(std::string_view text, int depth) {
    if (depth > 3) return refuse("the fields of format() nest too deep");
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c != '{' && c != '}') {
        out += c;
        continue;
      }
      if (i + 1 < text.size() && text[i + 1] == c) {  // a doubled brace stands for itself
        out += text[i++];
        continue;
      }
      const size_t end = c == '}' ? std::string_view::npos : closing_brace(text, i);
      if (end == std::string_view::npos)
        return refuse("a brace in the text of format() has no partner");
      PUNA_TRY(const std::string piece, field(text.substr(i + 1, end - i - 1), depth));
      PUNA_TRY(evaluator_.spend(1 + piece.size() / 8));
      out += piece;
      i = end;
    }
    return out;
  }

 private:
  static size_t closing_brace(std::string_view text, size_t open) {
    int depth = 0;
    bool in_brackets = false, in_spec = false;
    for (size_t i = open; i < text.size(); ++i) {
      if (text[i] == '[' && !in_spec) in_brackets = true;
      if (text[i] == ']') in_brackets = false;
      if (in_brackets) continue;
      if (text[i] == ':' || text[i] == '!') in_spec = true;
      if (text[i] == '{') ++depth;
      if (text[i] == '}' && --depth == 0) return i;
    }
    return std::string_view::npos;
  }

  // name!conversion:format
  Result<std::string> field(std::string_view text, int depth) {
    size_t end = 0;
    for (bool in_brackets = false; end < text.size(); ++end) {
      if (text[end] == '[') in_brackets = true;
      if (text[end] == ']') in_brackets = false;
      if (in_brackets) continue;
      if (text[end] == '{') return refuse("a name in the text of format() has a brace");
      if (text[end] == '!' || text[end] == ':') break;
    }
    PUNA_TRY(Value value, value_of(text.substr(0, end)));
    text.remove_prefix(end);
    if (text.starts_with('!')) {
      const char how = text.size() > 1 ? text[1] : '\0';
      if ((how != 's' && how != 'r' && how != 'a') || (text.size() > 2 && text[2] != ':'))
        return refuse(fmt::format("the conversion \"{}\" of format() is unknown", text));
      PUNA_TRY(evaluator_.spend(value.weight()));
      value = Value(how == 's' ? to_text(value) : how == 'r' ? to_repr(value) : to_ascii(value));
      text.remove_prefix(2);
    }
    if (!text.empty()) text.remove_prefix(1);
    PUNA_TRY(const std::string spec, run(text, depth + 1));
    if (escapes_ && value.is_markup()) {
      if (!spec.empty()) return refuse("markup takes no format");
      return value.string();
    }
    PUNA_TRY(std::string out, format_value(evaluator_, value, spec));
    return escapes_ ? html_escaped(out) : out;
  }

  // A place or a name, followed by .attribute and [key].
  Result<Value> value_of(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    PUNA_TRY(Value value, argument(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      if (path[0] == '.') {
        const size_t next = std::min(path.find_first_of(".[", 1), path.size());
        if (next == 1) return refuse("an attribute in the text of format() is empty");
        PUNA_TRY(value, get_attribute(value, std::string(path.substr(1, next - 1))));
        path.remove_prefix(next);
      } else {
        const size_t close = path.find(']');
        if (path[0] != '[' || close == std::string_view::npos || close == 1)
          return refuse("a key in the text of format() is not closed or empty");
        const std::string_view key = path.substr(1, close - 1);
        int64_t index = 0;
        if (is_number(key)) std::from_chars(key.data(), key.data() + key.size(), index);
        PUNA_TRY(value, get_item(value, is_number(key) ? Value(index) : Value(key)));
        path.remove_prefix(close + 1);
      }
    }
    return value;
  }

  Result<Value> argument(std::string_view name) {
    if (name.empty() || is_number(name)) {
      const bool counts = name.empty();
      if ((counts ? numbered_ : counted_))
        return refuse("the fields of format() are either numbered or not");
      (counts ? counted_ : numbered_) = true;
      size_t index = next_;
      if (counts) {
        ++next_;
      } else if (std::from_chars(name.data(), name.data() + name.size(), index).ec != std::errc()) {
        index = arguments_.positional.size();
      }
      if (index < arguments_.positional.size()) return arguments_.positional[index];
      return refuse(fmt::format("format() has no value for its field {}", index));
    }
    const auto found =
        std::ranges::find(arguments_.named, name, &std::pair<std::string, Value>::first);
    if (found != arguments_.named.end()) return found->second;
    return refuse(fmt::format("format() has no value for \"{}\"", name));
  }

  Evaluator& evaluator_;
  const Arguments& arguments_;
  bool escapes_;
  size_t next_ = 0;
  bool counted_ = false, numbered_ = false;
};

}  // namespace

Result<Value> brace_format(Evaluator& evaluator, const Value& text, const Arguments& arguments) {
  PUNA_TRY(evaluator.spend(text.weight()));
  PUNA_TRY(std::string out,
           BraceFormat(evaluator, arguments, text.is_markup()).run(text.string(), 1));
  return text_like(evaluator, text, std::move(out));
}

}  // namespace puna::chat::jinja
