// The methods of strings, lists and dicts that do not change them.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::Result;
using Method = Result<Value> (*)(Evaluator&, const Value& self, const Arguments&);

struct NamedMethod {
  std::string_view name;
  Method call;
};

Result<Value> list_of(const std::vector<std::string_view>& pieces) {
  std::vector<Value> items(pieces.begin(), pieces.end());
  return Value::list(std::move(items));
}

// ---- strings

bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }

using TrimFunction = std::string_view (*)(std::string_view, const std::string_view*);

template <TrimFunction trims>
Result<Value> strip(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"chars"}));
  if (!given[0] || given[0]->is_none()) return Value(trims(self.string(), nullptr));
  PUNA_TRY(const std::string set, string_or(given[0], "", "the argument of strip()"));
  const std::string_view view = set;
  return Value(trims(self.string(), &view));
}

template <std::string (*change)(std::string_view)>
Result<Value> changed(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return evaluator.text(change(self.string()));
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> pieces;
  for (text = trim_left(text); !text.empty(); text = trim_left(text)) {
    if (max_splits >= 0 && static_cast<int64_t>(pieces.size()) == max_splits) {
      pieces.push_back(trim_right(text));
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const CodePoint c = code_point_at(text, end);
      if (is_space(c.value)) break;
      end += c.bytes;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       int64_t max_splits) {
  std::vector<std::string_view> pieces;
  while (max_splits < 0 || static_cast<int64_t>(pieces.size()) < max_splits) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator,
                                                  int64_t max_splits) {
  std::vector<std::string_view> pieces;
  while (max_splits < 0 || static_cast<int64_t>(pieces.size()) < max_splits) {
    const size_t start = text.rfind(separator);
    if (start == std::string_view::npos) break;
    pieces.push_back(text.substr(start + separator.size()));
    text = text.substr(0, start);
  }
  pieces.push_back(text);
  std::ranges::reverse(pieces);
  return pieces;
}

template <bool from_right>
Result<Value> split(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sep", "maxsplit"}));
  PUNA_TRY(const int64_t max_splits, integer_or(given[1], -1, "maxsplit"));
  PUNA_TRY(evaluator.spend(self.string().size() * 2));  // at worst every byte becomes a piece
  if (!given[0] || given[0]->is_none()) {
    if (from_right && max_splits >= 0)
      return refuse("rsplit() with maxsplit and without sep is not supported");
    return list_of(split_at_space(self.string(), max_splits));
  }
  PUNA_TRY(const std::string separator, string_or(given[0], "", "the separator"));
  if (separator.empty()) return refuse("the separator is empty");
  return list_of(
      (from_right ? split_at_from_right : split_at)(self.string(), separator, max_splits));
}

template <bool at_start>
Result<Value> has_end(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"affix"}));
  const auto fits = [&](const Value& affix) -> Result<bool> {
    PUNA_TRY(const std::string text, string_or(&affix, "", "what a string starts or ends with"));
    return at_start ? self.string().starts_with(text) : self.string().ends_with(text);
  };
  if (!given[0]) return refuse("an argument is missing");
  if (!given[0]->is_tuple()) return fits(*given[0]);
  for (const Value& each : given[0]->items()) {
    PUNA_TRY(const bool found, fits(each));
    if (found) return Value(true);
  }
  return Value(false);
}

Result<Value> replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return apply_filter(evaluator, "replace", self, arguments);
}

Result<Value> join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"items"}));
  if (!given[0]) return refuse("an argument is missing");
  PUNA_TRY(const auto items, items_of(evaluator, *given[0]));
  for (const Value& item : items->items) {
    if (!item.is_string())
      return refuse(
          fmt::format("join() works on strings, not on a value of type {}", item.type_name()));
  }
  return apply_filter(evaluator, "join", *given[0], {.positional = {self}});
}

template <bool from_right>
Result<Value> find(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sub"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to find"));
  PUNA_TRY(evaluator.spend(self.weight()));
  const size_t at = from_right ? self.string().rfind(text) : self.string().find(text);
  return Value(at == std::string::npos
                   ? -1
                   : count_code_points(std::string_view(self.string()).substr(0, at)));
}

Result<Value> count_text(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sub"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to count"));
  PUNA_TRY(evaluator.spend(self.weight()));
  if (text.empty()) return Value(count_code_points(self.string()) + 1);
  int64_t n = 0;
  for (size_t at = 0; (at = self.string().find(text, at)) != std::string::npos; at += text.size())
    ++n;
  return Value(n);
}

template <bool prefix>
Result<Value> remove_affix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"affix"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to remove"));
  std::string_view out = self.string();
  if (prefix && out.starts_with(text)) out.remove_prefix(text.size());
  if (!prefix && out.ends_with(text)) out.remove_suffix(text.size());
  return evaluator.text(std::string(out));
}

template <bool from_right>
Result<Value> partition(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sep"}));
  PUNA_TRY(const std::string separator, string_or(given[0], "", "the separator"));
  if (separator.empty()) return refuse("the separator is empty");
  const std::string& text = self.string();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::vector<Value> parts =
      from_right ? std::vector<Value>{"", "", self} : std::vector<Value>{self, "", ""};
  if (at != std::string::npos)
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  return Value::list(std::move(parts), ListData::Form::kTuple);
}

Result<Value> lines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.string().size() * 2));
  return list_of(split_lines(self.string()));
}

// str.format with {}, {0} and {name}; neither attributes nor format specifications.
Result<Value> format(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const std::string& text = self.string();
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == text[i]) {  // a doubled brace stands for itself
      out += text[i++];
      continue;
    }
    const size_t end = text.find('}', i);
    if (text[i] == '}' || end == std::string::npos)
      return refuse("a brace in the text of format() has no partner");
    const std::string name = text.substr(i + 1, end - i - 1);
    const Value* value = nullptr;
    if (name.empty() || (name.size() == 1 && is_digit(static_cast<uint8_t>(name[0])))) {
      const size_t index = name.empty() ? next++ : static_cast<size_t>(name[0] - '0');
      if (index < arguments.positional.size()) value = &arguments.positional[index];
    } else {
      const auto found =
          std::ranges::find(arguments.named, name, &std::pair<std::string, Value>::first);
      if (found != arguments.named.end()) value = &found->second;
    }
    if (!value)
      return refuse(
          fmt::format("format() has no value for \"{{{}}}\", or does not know this form", name));
    PUNA_TRY(const std::string piece, text_of(evaluator, *value));
    out += piece;
    i = end;
  }
  return evaluator.text(std::move(out));
}

template <bool (*holds)(uint32_t)>
Result<Value> all_are(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.weight()));
  const std::string& text = self.string();
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!holds(c.value)) return Value(false);
    i += c.bytes;
  }
  return Value(!text.empty());
}

bool is_letter_or_digit(uint32_t c) { return is_letter(c) || is_digit(c); }

Result<Value> is_upper(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const bool yes, apply_test(evaluator, "upper", self, {}));
  return Value(yes);
}

Result<Value> is_lower(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const bool yes, apply_test(evaluator, "lower", self, {}));
  return Value(yes);
}

constexpr NamedMethod kStringMethods[] = {
    {"capitalize", changed<capitalize>},
    {"count", count_text},
    {"endswith", has_end<false>},
    {"find", find<false>},
    {"format", format},
    {"isalnum", all_are<is_letter_or_digit>},
    {"isalpha", all_are<is_letter>},
    {"isdigit", all_are<is_digit>},
    {"islower", is_lower},
    {"isspace", all_are<is_space>},
    {"isupper", is_upper},
    {"join", join},
    {"lower", changed<to_lower>},
    {"lstrip", strip<trim_left>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rfind", find<true>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<trim_right>},
    {"split", split<false>},
    {"splitlines", lines},
    {"startswith", has_end<true>},
    {"strip", strip<trim>},
    {"title", changed<title_case>},
    {"upper", changed<to_upper>},
};

// ---- dicts and lists

template <bool keys, bool values>
Result<Value> dict_view(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.dict().entries.size() * 2));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries) {
    if (keys && values) {
      PUNA_TRY(Value pair, Value::list({key, value}, ListData::Form::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(keys ? key : value);
    }
  }
  return Value::list(std::move(items));
}

Result<Value> dict_get(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"key", "default"}));
  if (!given[0]) return refuse("an argument is missing");
  if (const Value* found = self.dict().find(*given[0])) return *found;
  return given[1] ? *given[1] : Value(Value::None{});
}

Result<Value> itself(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return self;
}

constexpr NamedMethod kDictMethods[] = {
    {"copy", itself},
    {"get", dict_get},
    {"items", dict_view<true, true>},
    {"keys", dict_view<true, false>},
    {"values", dict_view<false, true>},
};

Result<Value> list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"value"}));
  if (!given[0]) return refuse("an argument is missing");
  PUNA_TRY(evaluator.spend(self.weight()));
  return Value(static_cast<int64_t>(std::ranges::count(self.items(), *given[0])));
}

Result<Value> list_index(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"value"}));
  if (!given[0]) return refuse("an argument is missing");
  PUNA_TRY(evaluator.spend(self.weight()));
  const auto found = std::ranges::find(self.items(), *given[0]);
  if (found == self.items().end()) return refuse("the value is not in the list");
  return Value(static_cast<int64_t>(found - self.items().begin()));
}

constexpr NamedMethod kListMethods[] = {
    {"copy", itself},
    {"count", list_count},
    {"index", list_index},
};

}  // namespace

Value find_method(const Value& self, std::string_view name) {
  const auto in = [&](const auto& table) -> Value {
    const auto found = std::ranges::find(table, name, &NamedMethod::name);
    if (found == std::end(table)) return {};
    return CallableData{
        .name = std::string(name),
        .call = [self, call = found->call](Evaluator& evaluator, const Arguments& arguments) {
          return call(evaluator, self, arguments);
        }};
  };
  if (self.is_string()) return in(kStringMethods);
  if (self.is_dict()) return in(kDictMethods);
  if (self.is_list()) return in(kListMethods);
  return {};
}

}  // namespace puna::chat::jinja
