// Filters that make or change text.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/format.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/text.h"
#include "chat/jinja/wrap.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

// The filter is the method of that name, on the text of whatever it is given.
Result<Value> by_method(Evaluator& evaluator, const Value& input, std::string_view name,
                        const Arguments& arguments) {
  PUNA_TRY(const Value text, string_of(evaluator, input));
  return call_method(evaluator, text, name, arguments);
}

Result<Value> lower(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return by_method(evaluator, input, "lower", {});
}

Result<Value> upper(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return by_method(evaluator, input, "upper", {});
}

Result<Value> capitalized(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return by_method(evaluator, input, "capitalize", {});
}

Result<Value> trimmed(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"chars="}));
  Arguments rest;
  if (given[0]) rest.positional.push_back(*given[0]);
  return by_method(evaluator, input, "strip", rest);
}

Result<Value> centered(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"width="}));
  return by_method(evaluator, input, "center", {.positional = {given[0] ? *given[0] : Value(80)}});
}

Result<Value> string(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return string_of(evaluator, input);
}

// The filter's own rule: words start after space, '-' and opening brackets, not after every
// non-letter.
Result<Value> title(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  const auto splits = [](const CodePoint& c) {
    return is_space(c.value) ||
           (c.value < 0x80 &&
            std::string_view("-({[<").find(static_cast<char>(c.value)) != std::string_view::npos);
  };
  std::string out;
  for (size_t start = 0; start < text.size();) {
    const CodePoint first = code_point_at(text, start);
    size_t end = start + first.bytes;
    while (end < text.size() && splits(code_point_at(text, end)) == splits(first))
      end += code_point_at(text, end).bytes;
    const std::string_view word = std::string_view(text).substr(start, end - start);
    out += to_upper(word.substr(0, first.bytes)) + to_lower(word.substr(first.bytes));
    start = end;
  }
  return evaluator.text(std::move(out));
}

Result<Value> word_count(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  int64_t n = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool word = is_word_part(c.value);
    if (word && !inside) ++n;
    inside = word;
    i += c.bytes;
  }
  return Value(n);
}

Result<Value> formatted(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return refuse("format takes either values or names, not both");
  PUNA_TRY(const Value text, string_of(evaluator, input));
  if (arguments.named.empty()) {
    PUNA_TRY(const Value values, Value::list(arguments.positional, ListData::Form::kTuple));
    return percent_format(evaluator, text, values);
  }
  std::vector<std::pair<Value, Value>> entries(arguments.named.begin(), arguments.named.end());
  PUNA_TRY(const Value values, Value::dict(std::move(entries)));
  return percent_format(evaluator, text, values);
}

Result<Value> replace(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"old", "new", "count="}));
  PUNA_TRY(const std::string text, text_of(evaluator, input));
  PUNA_TRY(const std::string before, text_of(evaluator, *given[0]));
  PUNA_TRY(const std::string after, text_of(evaluator, *given[1]));
  const bool all = given[2] && given[2]->is_none();
  PUNA_TRY(const int64_t count, integer_or(all ? nullptr : given[2], -1, "the count of replace"));
  PUNA_TRY(std::string out, replaced(evaluator, text, before, after, count));
  return evaluator.text(std::move(out));
}

// ---- layout

std::unexpected<base::Error> refuse_input(std::string_view filter, const Value& input) {
  return refuse(input.is_undefined() ? input.undefined_what()
                                     : fmt::format("{} does not work on a value of type {}", filter,
                                                   input.type_name()));
}

Result<Value> indented(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"width=", "first=", "blank="}));
  if (!input.is_string()) return refuse_input("indent", input);
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
  const std::string text = input.string() + '\n';
  const auto lines = split_lines(text);
  PUNA_TRY(evaluator.spend(lines.size() * (1 + gap.size() / 8)));
  std::string out = first ? gap : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += gap;
    out += lines[i];
  }
  return text_like(evaluator, input, std::move(out));
}

Result<Value> truncated(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"length=", "killwords=", "end=", "leeway="}));
  PUNA_TRY(const int64_t length, integer_or(given[0], 255, "the length of truncate"));
  PUNA_TRY(const std::string end, string_or(given[2], "...", "the end of truncate"));
  const bool no_leeway = given[3] && given[3]->is_none();
  PUNA_TRY(const int64_t leeway, integer_or(no_leeway ? nullptr : given[3], 5, "the leeway"));
  const int64_t kept = length - count_code_points(end);
  if (kept < 0)
    return refuse(fmt::format("the length {} of truncate is less than that of its end", length));
  if (leeway < 0) return refuse(fmt::format("the leeway {} of truncate is negative", leeway));
  if (!input.is_string()) {  // whatever is short enough may stay as it is
    PUNA_TRY(const Value size, apply_filter(evaluator, "length", input, {}));
    if (size.integer() - length <= leeway) return input;
    return refuse_input("truncate", input);
  }
  PUNA_TRY(evaluator.spend(input.weight()));
  const auto pieces = split_code_points(input.string());
  if (static_cast<int64_t>(pieces.size()) - length <= leeway) return input;
  size_t bytes = 0;
  for (int64_t i = 0; i < kept; ++i) bytes += pieces[static_cast<size_t>(i)].size();
  std::string out = input.string().substr(0, bytes);
  if (!given[1] || !given[1]->truthy()) out = out.substr(0, out.rfind(' '));
  out += input.is_markup() ? escaped_text(given[2] ? *given[2] : Value("...")) : end;
  return text_like(evaluator, input, std::move(out));
}

Result<Value> wrapped(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given,
           bind(arguments, {"width=", "break_long_words=", "wrapstring=", "break_on_hyphens="}));
  if (!input.is_string()) return refuse_input("wordwrap", input);
  WrapStyle style;
  PUNA_TRY(style.width, integer_or(given[0], 79, "the width of wordwrap"));
  style.breaks_words = !given[1] || given[1]->truthy();
  style.breaks_at_hyphens = !given[3] || given[3]->truthy();
  const bool plain = given[2] && given[2]->is_none();
  PUNA_TRY(const std::string newline,
           string_or(plain ? nullptr : given[2], "\n", "the wrapstring of wordwrap"));
  // In the worst case every character is a line of its own.
  PUNA_TRY(evaluator.spend(input.string().size() * 4));
  std::string out;
  const auto lines = split_lines(input.string());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (style.width < 1)
      return refuse(fmt::format("the width {} of wordwrap is below 1", style.width));
    const auto parts = wrap(lines[i], style);
    PUNA_TRY(evaluator.spend((parts.size() + 1) * (1 + newline.size() / 8)));
    if (i > 0) out += newline;
    for (size_t j = 0; j < parts.size(); ++j) {
      if (j > 0) out += newline;
      out += parts[j];
    }
  }
  return evaluator.text(std::move(out));
}

// ---- JSON

Result<Value> as_json(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given,
           bind(arguments, {"ensure_ascii=", "indent=", "separators=", "sort_keys="}));
  JsonStyle style;
  style.ascii = given[0] && given[0]->truthy();
  style.sort_keys = given[3] && given[3]->truthy();
  if (given[1] && given[1]->is_string()) {
    style.indent = given[1]->string();
  } else if (given[1] && !given[1]->is_none()) {
    PUNA_TRY(const int64_t n, integer_or(given[1], 0, "the indent of tojson"));
    PUNA_TRY(evaluator.spend(static_cast<uint64_t>(std::max<int64_t>(n, 0)) / 8));
    style.indent = std::string(static_cast<size_t>(std::max<int64_t>(n, 0)), ' ');
  }
  if (style.indent) style.item_separator = ",";
  if (given[2] && !given[2]->is_none()) {
    const Value& pair = *given[2];
    if (!pair.is_whole() || pair.items().size() != 2 || !pair.items()[0].is_string() ||
        !pair.items()[1].is_string()) {
      return refuse("the separators of tojson are two strings");
    }
    style.item_separator = pair.items()[0].string();
    style.key_separator = pair.items()[1].string();
  }
  // The separators of every item, and the indent of every level before it.
  const uint64_t separators = (style.item_separator.size() + style.key_separator.size()) / 8;
  const uint64_t margin =
      style.indent ? (style.indent->size() * static_cast<uint64_t>(input.depth() + 1)) / 8 : 0;
  PUNA_TRY(evaluator.spend(input.weight()));
  PUNA_TRY(evaluator.spend(input.weight() * (separators + margin)));
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

// Only as far as it is one line: repr() with the keys of dicts in order.
Result<Value> pretty(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(input.weight()));
  PUNA_TRY(std::string text, to_sorted_repr(input));
  if (count_code_points(text) > 80 || (input.is_string() && text.find("\\n") != std::string::npos))
    return refuse("pprint is not supported where it needs more than one line");
  return evaluator.text(std::move(text));
}

constexpr Filter kFilters[] = {
    {"capitalize", capitalized}, {"center", centered},
    {"format", formatted},       {"from_json", from_json},
    {"indent", indented},        {"lower", lower},
    {"pprint", pretty},          {"replace", replace},
    {"string", string},          {"title", title},
    {"tojson", as_json},         {"trim", trimmed},
    {"truncate", truncated},     {"upper", upper},
    {"wordcount", word_count},   {"wordwrap", wrapped},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace puna::chat::jinja
