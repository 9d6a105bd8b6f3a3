// Filters for HTML and addresses. Nothing is escaped unasked, but what escape and safe give is
// markup: it escapes the text that is added to it.
#include <fmt/format.h>

#include <charconv>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

Result<Value> escape(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(2 * input.weight()));
  return Value::markup(escaped_text(input));
}

Result<Value> escape_again(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  PUNA_TRY(evaluator.spend(text.size() / 8));
  return Value::markup(html_escaped(text));
}

Result<Value> safe(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(std::string text, text_of(evaluator, input));
  return Value::markup(std::move(text));
}

// The character that an entity such as "&lt;" or "&#34;" stands for.
Result<std::string> entity(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00A0"}};
  for (const auto& [known, text] : kKnown) {
    if (known == name) return std::string(text);
  }
  uint32_t code = 0;
  const bool hex = name.starts_with("#x") || name.starts_with("#X");
  const std::string_view digits = name.substr(std::min<size_t>(hex ? 2 : 1, name.size()));
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  if (!name.starts_with('#') || error != std::errc() || end != digits.data() + digits.size() ||
      code < 0x20 || (code >= 0x7F && code < 0xA0))
    return refuse(fmt::format("the entity \"&{};\" is not supported", name));
  std::string out;
  append_utf8(out, code);
  return out;
}

Result<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end =
        text[i] == '&' ? text.find_first_of("; \t\n&<", i + 1) : std::string_view::npos;
    if (end != std::string_view::npos && text[end] == ';' && end > i + 1) {
      PUNA_TRY(const std::string character, entity(text.substr(i + 1, end - i - 1)));
      out += character;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

Result<Value> without_tags(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  PUNA_TRY(evaluator.spend(text.size()));
  std::string kept;
  size_t at = 0;
  for (size_t start = 0; (start = text.find('<', at)) != std::string::npos;) {
    const bool comment = text.compare(start, 4, "<!--") == 0;
    const size_t end = comment ? text.find("-->", start + 4) : text.find('>', start);
    if (end == std::string::npos) break;
    kept.append(text, at, start - at);
    at = end + (comment ? 3 : 1);
  }
  kept.append(text, at);
  PUNA_TRY(const Value words, call_method(evaluator, Value(kept), "split", {}));
  PUNA_TRY(const Value joined, call_method(evaluator, Value(" "), "join", {.positional = {words}}));
  PUNA_TRY(std::string out, unescaped(joined.string()));
  return evaluator.text(std::move(out));
}

// The entries of a dict as attributes of a tag.
Result<Value> attributes(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"autospace="}));
  if (!input.is_dict())
    return refuse(fmt::format("xmlattr does not work on a value of type {}", input.type_name()));
  std::string out;
  for (const auto& [key, value] : input.dict().entries) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_string()) return refuse("the names of attributes are of type str");
    for (const std::string_view c : split_code_points(key.string())) {
      if (is_space(code_point_at(c, 0).value) || c == "/" || c == ">" || c == "=")
        return refuse(fmt::format("the name of an attribute has a character \"{}\"", c));
    }
    PUNA_TRY(evaluator.spend(2 * (key.weight() + value.weight())));
    if (!out.empty()) out += ' ';
    out += fmt::format("{}=\"{}\"", escaped_text(key), escaped_text(value));
  }
  if (!out.empty() && (!given[0] || given[0]->truthy())) out.insert(0, 1, ' ');
  return evaluator.text(std::move(out));
}

Result<std::string> url_quoted(Evaluator& evaluator, const Value& value, bool in_query) {
  PUNA_TRY(const std::string text, text_of(evaluator, value));
  PUNA_TRY(evaluator.spend(text.size()));
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("_.-~").find(c) != std::string_view::npos ||
        (c == '/' && !in_query)) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return out;
}

Result<Value> url_encoded(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (!input.is_list() && !input.is_dict() && !input.is_undefined()) {
    PUNA_TRY(std::string text, url_quoted(evaluator, input, /*in_query=*/false));
    return evaluator.text(std::move(text));
  }
  Value pairs = input;
  if (input.is_dict()) {
    PUNA_TRY(pairs, call_method(evaluator, input, "items", {}));
  }
  PUNA_TRY(const auto list, items_of(evaluator, pairs));
  std::string out;
  for (const Value& each : list->items) {
    PUNA_TRY(const auto pair, items_of(evaluator, each));
    if (pair->items.size() != 2) return refuse("urlencode wants pairs of a key and a value");
    PUNA_TRY(const std::string key, url_quoted(evaluator, pair->items[0], /*in_query=*/true));
    PUNA_TRY(const std::string value, url_quoted(evaluator, pair->items[1], /*in_query=*/true));
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", key, value);
  }
  return evaluator.text(std::move(out));
}

constexpr Filter kFilters[] = {
    {"e", escape},           {"escape", escape},          {"forceescape", escape_again},
    {"safe", safe},          {"striptags", without_tags}, {"urlencode", url_encoded},
    {"xmlattr", attributes},
};

}  // namespace

std::span<const Filter> html_filters() { return kFilters; }

}  // namespace puna::chat::jinja
