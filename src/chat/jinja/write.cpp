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

void append_escape(std::string& out, uint32_t c) {
  out += c < 0x100     ? fmt::format("\\x{:02x}", c)
         : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                       : fmt::format("\\U{:08x}", c);
}

// Quotes as repr() does: with ' unless the text has one and no ".
std::string quoted(std::string_view text) {
  const bool use_double =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool invalid = c.bytes == 1 && static_cast<uint8_t>(text[i]) >= 0x80;
    if (text[i] == quote || text[i] == '\\') {
      out += '\\';
      out += text[i];
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (!invalid && !is_printable(c.value)) {
      append_escape(out, c.value);
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out + quote;
}

void write_repr(const Value& value, std::string& out) {
  if (value.is_string()) {
    out += value.is_markup() ? fmt::format("Markup({})", quoted(value.string()))
                             : quoted(value.string());
  } else if (value.is_range()) {
    const ListData::Range& range = value.list_data()->range;
    out += range.step == 1 ? fmt::format("range({}, {})", range.first, range.last)
                           : fmt::format("range({}, {}, {})", range.first, range.last, range.step);
  } else if (value.is_list()) {
    const bool is_view = !value.is_whole() && !value.is_lazy();
    if (is_view) out += fmt::format("{}(", value.type_name());
    out += value.is_tuple() ? "(" : "[";
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (i > 0) out += ", ";
      write_repr(value.items()[i], out);
    }
    if (value.is_tuple()) {
      out += value.items().size() == 1 ? ",)" : ")";
    } else {
      out += is_view ? "])" : "]";
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
  } else if (value.is_loop()) {
    out += fmt::format("<LoopContext {}/{}>", value.loop().index + 1,
                       value.loop().items->items.size());
  } else if (value.is_object()) {
    out += std::string_view(value.type_name()) == "Macro"
               ? fmt::format("<Macro {}>", quoted(value.callable().name))
               : fmt::format("<{} {}>", value.type_name(), value.callable().name);
  } else {
    out += fmt::format("<{}>", value.type_name());
  }
}

// Whether keys of a dict can be sorted: all numbers or all strings.
bool have_order(const std::vector<std::pair<Value, Value>>& entries) {
  const auto all = [&](bool (Value::*is)() const) {
    return std::ranges::all_of(entries, [&](const auto& entry) { return (entry.first.*is)(); });
  };
  return entries.size() < 2 || all(&Value::is_number) || all(&Value::is_string);
}

// The order of keys; by the names of their types where they have none.
bool goes_before(const std::pair<Value, Value>& a, const std::pair<Value, Value>& b) {
  if (a.first.is_string() && b.first.is_string()) return a.first.string() < b.first.string();
  if (a.first.is_number() && b.first.is_number()) return a.first.number() < b.first.number();
  return std::string_view(a.first.type_name()) < b.first.type_name();
}

Result<Value> with_sorted_keys(const Value& value) {
  if (value.is_dict()) {
    auto entries = value.dict().entries;
    std::ranges::stable_sort(entries, goes_before);
    for (auto& [key, item] : entries) {
      PUNA_TRY(item, with_sorted_keys(item));
    }
    return Value::dict(std::move(entries));
  }
  if (!value.is_whole()) return value;
  std::vector<Value> items;
  for (const Value& item : value.items()) {
    PUNA_TRY(Value sorted, with_sorted_keys(item));
    items.push_back(std::move(sorted));
  }
  return Value::list(std::move(items), value.list_data()->form);
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
    } else if (value.is_whole() || value.is_lazy()) {
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
    std::vector<std::pair<Value, Value>> entries = dict.entries;
    if (style_.sort_keys) {
      if (!have_order(entries))
        return fail(ErrorCode::kInvalidArgument, "the keys of a dict have no order");
      std::ranges::stable_sort(entries, goes_before);
    }
    out_ += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      between(i, depth);
      PUNA_TRY(write_key(entries[i].first));
      out_ += style_.key_separator;
      PUNA_TRY(write(entries[i].second, depth + 1));
    }
    close(entries.size(), depth, '}');
    return {};
  }
  Result<void> write_key(const Value& key) {
    if (key.is_string()) {
      write_json_string(key.string(), style_.ascii, out_);
      return {};
    }
    if (!key.is_number() && !key.is_none()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("JSON cannot hold a key of type {}", key.type_name()));
    }
    out_ += '"';
    PUNA_TRY(write(key, 0));
    out_ += '"';
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
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < depth; ++i) out_ += *style_.indent;
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

std::string to_ascii(const Value& value) {
  const std::string repr = to_repr(value);
  std::string out;
  for (size_t i = 0; i < repr.size();) {
    const CodePoint c = code_point_at(repr, i);
    if (c.value < 0x80) {
      out += repr[i];
    } else {
      append_escape(out, c.value);
    }
    i += c.bytes;
  }
  return out;
}

Result<std::string> to_sorted_repr(const Value& value) {
  PUNA_TRY(const Value sorted, with_sorted_keys(value));
  return to_repr(sorted);
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
