#include "chat/jinja/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// Quotes as repr() does: with ' unless the text has one and no ".
std::string quoted(std::string_view text) {
  const bool use_double =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

void write_repr(const Value& value, std::string& out) {
  if (value.is_string()) {
    out += quoted(value.string());
  } else if (value.is_list()) {
    out += value.is_tuple() ? "(" : "[";
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (i > 0) out += ", ";
      write_repr(value.items()[i], out);
    }
    if (value.is_tuple()) {
      out += value.items().size() == 1 ? ",)" : ")";
    } else {
      out += "]";
    }
  } else if (value.is_dict()) {
    out += "{";
    for (size_t i = 0; i < value.dict().entries.size(); ++i) {
      if (i > 0) out += ", ";
      write_repr(value.dict().entries[i].first, out);
      out += ": ";
      write_repr(value.dict().entries[i].second, out);
    }
    out += "}";
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else if (value.is_none()) {
    out += "None";
  } else if (value.is_bool()) {
    out += value.boolean() ? "True" : "False";
  } else if (value.is_integer()) {
    out += std::to_string(value.integer());
  } else if (value.is_float()) {
    out += float_text(value.number());
  } else if (value.is_callable()) {
    out += fmt::format("<function {}>", value.callable().name);
  } else {
    out += fmt::format("<{}>", value.type_name());
  }
}

void write_json_string(std::string_view text, bool ascii, std::string& out) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    static constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
    static constexpr std::string_view kLetters = "\"\\nrtbf";
    const size_t known =
        c.value < 0x80 ? kShort.find(static_cast<char>(c.value)) : std::string_view::npos;
    if (known != std::string_view::npos) {
      out += '\\';
      out += kLetters[known];
    } else if (c.value < 0x20 || (ascii && c.value > 0x7E && c.value < 0x10000)) {
      out += fmt::format("\\u{:04x}", c.value);
    } else if (ascii && c.value >= 0x10000) {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c.value - 0x10000) >> 10),
                         0xDC00 + ((c.value - 0x10000) & 0x3FF));
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  out += '"';
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, std::string& out) : style_(style), out_(out) {}

  Result<void> write(const Value& value, int depth) {
    if (value.is_string()) {
      write_json_string(value.string(), style_.ascii, out_);
    } else if (value.is_list()) {
      out_ += '[';
      for (size_t i = 0; i < value.items().size(); ++i) {
        between(i, depth);
        PUNA_TRY(write(value.items()[i], depth + 1));
      }
      close(value.items().size(), depth, ']');
    } else if (value.is_dict()) {
      PUNA_TRY(write_dict(value.dict(), depth));
    } else if (value.is_none()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.boolean() ? "true" : "false";
    } else if (value.is_integer()) {
      out_ += std::to_string(value.integer());
    } else if (value.is_float()) {
      const double number = value.number();
      out_ += std::isnan(number)   ? "NaN"
              : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity")
                                   : float_text(number);
    } else {
      return fail(
          ErrorCode::kInvalidArgument,
          value.is_undefined()
              ? fmt::format("JSON cannot hold an undefined value ({})", value.undefined_what())
              : fmt::format("JSON cannot hold a value of type {}", value.type_name()));
    }
    return {};
  }

 private:
  Result<void> write_dict(const DictData& dict, int depth) {
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, item] : dict.entries) {
      if (key.is_string()) {
        entries.emplace_back(key.string(), &item);
      } else if (key.is_number() || key.is_none()) {
        std::string text;
        PUNA_TRY(JsonWriter(style_, text).write(key, depth));
        entries.emplace_back(std::move(text), &item);
      } else {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("JSON cannot hold a key of type {}", key.type_name()));
      }
    }
    if (style_.sort_keys)
      std::ranges::sort(entries, {}, &std::pair<std::string, const Value*>::first);
    out_ += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      between(i, depth);
      write_json_string(entries[i].first, style_.ascii, out_);
      out_ += style_.key_separator;
      PUNA_TRY(write(*entries[i].second, depth + 1));
    }
    close(entries.size(), depth, '}');
    return {};
  }
  void between(size_t i, int depth) {
    if (i > 0) out_ += style_.item_separator;
    newline(depth + 1);
  }
  void close(size_t n, int depth, char bracket) {
    if (n > 0) newline(depth);
    out_ += bracket;
  }
  void newline(int depth) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(style_.indent) * static_cast<size_t>(depth), ' ');
  }

  const JsonStyle& style_;
  std::string& out_;
};

}  // namespace

std::string to_text(const Value& value) {
  if (value.is_undefined()) return {};
  return value.is_string() ? value.string() : to_repr(value);
}

std::string to_repr(const Value& value) {
  std::string out;
  write_repr(value, out);
  return out;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const double size = std::fabs(value);
  // repr() leaves positional notation below 1e-4 and from 1e16 on.
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
  std::string text(buffer, end);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

Result<std::string> to_json(const Value& value, const JsonStyle& style) {
  std::string out;
  PUNA_TRY(JsonWriter(style, out).write(value, 0));
  return out;
}

}  // namespace puna::chat::jinja
