// Filters that make or change text and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

template <std::string (*change)(std::string_view)>
Result<Value> changed(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  return evaluator.text(change(text));
}

// The filter's own rule: words start after space, '-' and opening brackets, not after every
// non-letter.
std::string title(std::string_view text) {
  std::string out;
  const auto splits = [](const CodePoint& c) {
    return is_space(c.value) ||
           (c.value < 0x80 &&
            std::string_view("-({[<").find(static_cast<char>(c.value)) != std::string_view::npos);
  };
  for (size_t start = 0; start < text.size();) {
    const bool gap = splits(code_point_at(text, start));
    size_t end = start;
    while (end < text.size() && splits(code_point_at(text, end)) == gap)
      end += code_point_at(text, end).bytes;
    const std::string_view word = text.substr(start, end - start);
    out += gap ? std::string(word) : capitalize(word);
    start = end;
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Nothing is escaped unasked, so `safe` has nothing to mark.
std::string unchanged(std::string_view text) { return std::string(text); }

Result<Value> trimmed(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"chars"}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  if (!given[0] || given[0]->is_none()) return Value(trim(text));
  PUNA_TRY(const std::string set, string_or(given[0], "", "the characters to trim"));
  const std::string_view view = set;
  return Value(trim(text, &view));
}

// Python's str.replace: an empty `old` stands before every character and at the end.
Result<Value> replaced(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"old", "new", "count"}));
  if (!given[0] || !given[1]) return refuse("replace wants what to replace and by what");
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  PUNA_TRY(const std::string before, text_of(evaluator, *given[0]));
  PUNA_TRY(const std::string after, text_of(evaluator, *given[1]));
  int64_t left = -1;
  if (given[2] && !given[2]->is_none()) {
    PUNA_TRY(left, integer_or(given[2], -1, "the count of replace"));
  }
  std::string out;
  size_t at = 0;
  while (left != 0) {
    const size_t found = before.empty() ? at : text.find(before, at);
    if (found == std::string::npos) break;
    PUNA_TRY(evaluator.spend(1 + after.size() / 8));
    out.append(text, at, found - at);
    out += after;
    --left;
    at = found + before.size();
    if (!before.empty()) continue;
    if (at >= text.size()) break;
    const size_t bytes = code_point_at(text, at).bytes;
    out.append(text, at, bytes);
    at += bytes;
  }
  if (at < text.size()) out.append(text, at);
  return evaluator.text(std::move(out));
}

Result<Value> indented(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"width", "first", "blank"}));
  std::string gap;
  if (given[0] && given[0]->is_string()) {
    gap = given[0]->string();
  } else {
    PUNA_TRY(const int64_t width, integer_or(given[0], 4, "the width of indent"));
    PUNA_TRY(evaluator.spend(static_cast<uint64_t>(std::max<int64_t>(width, 0)) / 8));
    gap.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool first = given[1] && given[1]->truthy();
  const bool blank = given[2] && given[2]->truthy();
  PUNA_TRY(std::string text, text_of(evaluator, input));
  text += '\n';
  const auto lines = split_lines(text);
  PUNA_TRY(evaluator.spend(lines.size() * (1 + gap.size() / 8)));
  std::string out = first ? gap : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += gap;
    out += lines[i];
  }
  return evaluator.text(std::move(out));
}

Result<Value> as_json(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given,
           bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = given[0] && given[0]->truthy();
  style.sort_keys = given[3] && given[3]->truthy();
  if (given[1] && !given[1]->is_none()) {
    PUNA_TRY(style.indent, integer_or(given[1], 0, "the indent of tojson"));
    style.indent = std::clamp<int64_t>(style.indent, 0, 64);
    style.item_separator = ",";
  }
  if (given[2] && !given[2]->is_none()) {
    const Value& pair = *given[2];
    if (!pair.is_list() || pair.items().size() != 2 || !pair.items()[0].is_string() ||
        !pair.items()[1].is_string()) {
      return refuse("the separators of tojson are two strings");
    }
    style.item_separator = pair.items()[0].string();
    style.key_separator = pair.items()[1].string();
  }
  const uint64_t margin =
      static_cast<uint64_t>(std::max<int64_t>(style.indent, 0)) * kMaxValueDepth / 8;
  const uint64_t separators = (style.item_separator.size() + style.key_separator.size()) / 8;
  PUNA_TRY(evaluator.spend(input.weight() * (1 + separators)));
  if (style.indent > 0) PUNA_TRY(evaluator.spend(input.weight() / 8 * (1 + margin / 8)));
  PUNA_TRY(std::string text, to_json(input, style));
  return evaluator.text(std::move(text));
}

// Not of Jinja, but templates that handle arguments given as text use it where it exists.
Result<Value> from_json(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, string_or(&input, "", "the input of from_json"));
  PUNA_TRY(evaluator.spend(text.size()));
  const Result<base::Json> json = base::Json::parse(text);
  if (!json) return refuse("the input of from_json is no JSON");
  return Value::from_json(*json);
}

// ---- numbers

// The number that a text holds, as float() reads it; false when it is none.
bool read_float(std::string_view text, double& out) {
  const std::string trimmed_text(trim(text));
  if (trimmed_text.empty() || trimmed_text.find_first_of("xXpP") != std::string::npos) return false;
  char* end = nullptr;
  out = std::strtod(trimmed_text.c_str(), &end);
  return *end == '\0';
}

Result<Value> to_integer(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"default", "base"}));
  PUNA_TRY(const int64_t base, integer_or(given[1], 10, "the base of int"));
  if (base < 2 || base > 36)
    return refuse(fmt::format("the base {} of int is not between 2 and 36", base));
  Value fallback = given[0] ? *given[0] : Value(0);
  if (input.is_integer() || input.is_bool()) return Value(input.integer());
  double number = 0;
  if (input.is_float()) {
    number = input.number();
  } else if (input.is_string()) {
    PUNA_TRY(evaluator.spend(input.weight()));
    std::string_view text = trim(input.string());
    if (text.starts_with('+')) text.remove_prefix(1);
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, static_cast<int>(base));
    if (error == std::errc() && end == text.data() + text.size() && !text.empty())
      return Value(value);
    if (!read_float(text, number)) return fallback;
  } else {
    return fallback;
  }
  static constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(std::fabs(number) < kLimit)) return fallback;
  return Value(static_cast<int64_t>(number));
}

Result<Value> to_float(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"default"}));
  if (input.is_number()) return Value(input.number());
  double number = 0;
  if (input.is_string()) {
    PUNA_TRY(evaluator.spend(input.weight()));
    if (read_float(input.string(), number)) return Value(number);
  }
  return given[0] ? *given[0] : Value(0.0);
}

Result<Value> absolute(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (!input.is_number())
    return refuse(fmt::format("abs does not work on a value of type {}", input.type_name()));
  if (input.is_float()) return Value(std::fabs(input.number()));
  return input.integer() < 0 ? arithmetic(evaluator, "-", Value(0), input) : Value(input.integer());
}

Result<Value> rounded(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"precision", "method"}));
  PUNA_TRY(const int64_t precision, integer_or(given[0], 0, "the precision of round"));
  PUNA_TRY(const std::string method, string_or(given[1], "common", "the method of round"));
  if (!input.is_number())
    return refuse(fmt::format("round does not work on a value of type {}", input.type_name()));
  if (precision < 0 || precision > 17)
    return refuse(fmt::format("the precision {} of round is not between 0 and 17", precision));
  if (method == "common") {
    if (!input.is_float()) return Value(input.integer());
    if (!std::isfinite(input.number())) return input;
    return Value(std::strtod(fmt::format("{:.{}f}", input.number(), precision).c_str(), nullptr));
  }
  if (method != "ceil" && method != "floor")
    return refuse(fmt::format("the method \"{}\" of round is unknown", method));
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr Filter kFilters[] = {
    {"abs", absolute},
    {"capitalize", changed<capitalize>},
    {"e", changed<escaped>},
    {"escape", changed<escaped>},
    {"float", to_float},
    {"from_json", from_json},
    {"indent", indented},
    {"int", to_integer},
    {"lower", changed<to_lower>},
    {"replace", replaced},
    {"round", rounded},
    {"safe", changed<unchanged>},
    {"string", changed<unchanged>},
    {"title", changed<title>},
    {"tojson", as_json},
    {"trim", trimmed},
    {"upper", changed<to_upper>},
};

}  // namespace

const Filter* find_text_filter(std::string_view name) {
  const auto found = std::ranges::find(kFilters, name, &Filter::name);
  return found == std::end(kFilters) ? nullptr : found;
}

const Filter* find_filter(std::string_view name) {
  if (const Filter* found = find_text_filter(name)) return found;
  if (const Filter* found = find_sequence_filter(name)) return found;
  return find_grouping_filter(name);
}

}  // namespace puna::chat::jinja
