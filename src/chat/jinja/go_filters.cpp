// What translated Go templates call (chat/go_template.h): values as Go walks, measures and writes
// them. Where Go counts bytes of a string, so do these.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/go_data.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

bool is_nil(const Value& value) { return value.is_undefined() || value.is_none(); }

// The shortest digits that read back the same, as Go's strconv lays them out: with an exponent
// below 10^lowest and from 10^highest on. Its exponents have two digits, but one in JSON.
std::string go_float(double value, int lowest, int highest, int exponent_digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value < 0 ? "-Inf" : "+Inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  if (value == 0 || (exponent >= lowest && exponent < highest)) {
    char plain[400];
    const auto stop = std::to_chars(plain, std::end(plain), value, std::chars_format::fixed);
    return std::string(plain, stop.ptr);
  }
  return fmt::format("{}e{}{:0{}}", text.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent),
                     exponent_digits);
}

// ---- As fmt.Print writes it

// All numbers of JSON are floats for Go, which writes 1234567 as 1.234567e+06. Whole ones stay as
// they came here: no model is helped by that.
std::string printed_number(const Value& value) {
  if (value.is_integer()) return std::to_string(value.integer());
  return go_float(value.number(), -4, 6, 2);
}

void print(const Value& value, std::string& out) {
  if (value.is_string()) {
    out += value.string();
  } else if (value.is_bool()) {
    out += value.boolean() ? "true" : "false";
  } else if (value.is_number()) {
    out += printed_number(value);
  } else if (value.is_list()) {
    out += '[';
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (i > 0) out += ' ';
      print(value.items()[i], out);
    }
    out += ']';
  } else if (value.is_dict()) {
    out += "map[";
    bool first = true;
    for (const auto& [key, item] : value.dict().entries) {
      if (!std::exchange(first, false)) out += ' ';
      print(key, out);
      out += ':';
      print(item, out);
    }
    out += ']';
  } else {
    out += "<nil>";
  }
}

Result<Value> go_print(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(input.weight()));
  if (is_nil(input)) return Value("<no value>");
  std::string out;
  print(input, out);
  return evaluator.text(std::move(out));
}

// ---- As encoding/json writes it

void write_json_string(std::string_view text, std::string& out) {
  const std::string json = base::Json(text).dump();
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool line_mark = json.compare(i, 3, "\u2028") == 0 || json.compare(i, 3, "\u2029") == 0;
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (line_mark) {
      out += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += c;
    }
  }
}

void write_json(const Value& value, std::string& out) {
  if (value.is_string()) {
    write_json_string(value.string(), out);
  } else if (value.is_bool()) {
    out += value.boolean() ? "true" : "false";
  } else if (value.is_integer()) {
    out += std::to_string(value.integer());
  } else if (value.is_number()) {
    out += std::isfinite(value.number()) ? go_float(value.number(), -6, 21, 1) : "null";
  } else if (value.is_list()) {
    out += '[';
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (i > 0) out += ',';
      write_json(value.items()[i], out);
    }
    out += ']';
  } else if (value.is_dict()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.dict().entries) {
      if (!std::exchange(first, false)) out += ',';
      write_json_string(to_text(key), out);
      out += ':';
      write_json(item, out);
    }
    out += '}';
  } else {
    out += "null";
  }
}

Result<Value> go_json(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(input.weight()));
  std::string out;
  write_json(input, out);
  return evaluator.text(std::move(out));
}

// ---- Types of properties: a string in JSON where there is one, a list for Go

std::vector<Value> types_of(const Value& value) {
  if (value.is_list()) return value.items();
  return value.is_string() ? std::vector<Value>{value} : std::vector<Value>{};
}

Result<Value> go_types(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return Value::list(types_of(input));
}

Result<Value> go_type_text(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(input.weight()));
  const std::vector<Value> types = types_of(input);
  std::string out;
  if (types.size() == 1) {
    print(types[0], out);
  } else if (!types.empty()) {
    print(input, out);
  }
  return evaluator.text(std::move(out));
}

// ---- Walking and measuring

// Pairs of index or key, and item.
Result<Value> go_range(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  std::vector<Value> pairs;
  const auto add = [&](Value key, Value item) -> Result<void> {
    PUNA_TRY(Value pair, Value::list({std::move(key), std::move(item)}, ListData::Form::kTuple));
    pairs.push_back(std::move(pair));
    return {};
  };
  if (input.is_list()) {
    PUNA_TRY(evaluator.spend(input.items().size()));
    for (size_t i = 0; i < input.items().size(); ++i)
      PUNA_TRY(add(static_cast<int64_t>(i), input.items()[i]));
  } else if (input.is_dict()) {
    PUNA_TRY(evaluator.spend(input.dict().entries.size()));
    for (const auto& [key, item] : input.dict().entries) PUNA_TRY(add(key, item));
  } else if (input.is_integer()) {
    constexpr int64_t kMost = 100'000;  // as Jinja's range()
    if (input.integer() > kMost)
      return refuse(fmt::format("a range has more than {} items", kMost));
    PUNA_TRY(evaluator.spend(static_cast<uint64_t>(std::max<int64_t>(input.integer(), 0))));
    for (int64_t i = 0; i < input.integer(); ++i) PUNA_TRY(add(i, i));
  } else if (!is_nil(input)) {
    return refuse(fmt::format("range cannot go over a value of type {}", input.type_name()));
  }
  return Value::list(std::move(pairs));
}

Result<int64_t> length_of(const Value& value) {
  if (value.is_string()) return static_cast<int64_t>(value.string().size());
  if (value.is_list()) return static_cast<int64_t>(value.items().size());
  if (value.is_dict()) return static_cast<int64_t>(value.dict().entries.size());
  if (value.is_undefined()) return 0;  // of a struct's member that is not there
  return refuse(fmt::format("a value of type {} has no length", value.type_name()));
}

Result<Value> go_len(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const int64_t length, length_of(input));
  return Value(length);
}

Result<int64_t> checked_index(const Value& index, int64_t limit) {
  if (!index.is_integer() || index.is_bool())
    return refuse(fmt::format("an index is of type {}", index.type_name()));
  if (index.integer() < 0 || index.integer() >= limit)
    return refuse(fmt::format("the index {} is out of range", index.integer()));
  return index.integer();
}

// input[index]; of a dict that lacks the key, nothing.
Result<Value> go_index(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"index"}));
  if (input.is_dict()) {
    const Value* found = input.dict().find(*given[0]);
    return found ? *found : Value(Value::None{});
  }
  PUNA_TRY(const int64_t length, length_of(input));
  PUNA_TRY(const int64_t at, checked_index(*given[0], length));
  if (input.is_string())
    return Value(int64_t{static_cast<unsigned char>(input.string()[static_cast<size_t>(at)])});
  return input.items()[static_cast<size_t>(at)];
}

Result<Value> go_slice(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"first=", "last="}));
  if (!input.is_list() && !input.is_string() && !input.is_undefined())
    return refuse(fmt::format("a value of type {} has no slices", input.type_name()));
  PUNA_TRY(const int64_t length, length_of(input));
  int64_t first = 0;
  int64_t last = length;
  if (given[0]) {
    PUNA_TRY(first, checked_index(*given[0], length + 1));
  }
  if (given[1]) {
    PUNA_TRY(last, checked_index(*given[1], length + 1));
  }
  if (first > last) return refuse(fmt::format("a slice goes from {} to {}", first, last));
  PUNA_TRY(evaluator.spend(static_cast<uint64_t>(last - first)));
  if (input.is_string())
    return evaluator.text(
        input.string().substr(static_cast<size_t>(first), static_cast<size_t>(last - first)));
  if (input.is_undefined()) return Value();
  return Value::list({input.items().begin() + first, input.items().begin() + last});
}

// ---- Functions of ollama

// What a property of a tool is in TypeScript.
std::string typescript_type(const Value& property);

std::string typescript_name(const Value& type) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"string", "string"},   {"number", "number"}, {"integer", "number"},
      {"boolean", "boolean"}, {"array", "any[]"},   {"object", "Record<string, any>"},
      {"null", "null"}};
  if (!type.is_string()) return "any";
  const auto* found = std::ranges::find(kNames, std::string_view(type.string()),
                                        &std::pair<std::string_view, std::string_view>::first);
  return std::string(found == std::end(kNames) ? "any" : found->second);
}

template <class Name>
std::string joined(const std::vector<Value>& values, Name&& name) {
  std::string out;
  for (const Value& value : values) {
    if (!out.empty()) out += " | ";
    out += name(value);
  }
  return out.empty() ? "any" : out;
}

std::string typescript_type(const Value& property) {
  if (!property.is_dict()) return "any";
  const Value* any_of = property.dict().find(Value("anyOf"));
  if (any_of && any_of->is_list() && !any_of->items().empty())
    return joined(any_of->items(), typescript_type);
  const Value* type = property.dict().find(Value("type"));
  if (!type) return "any";
  return type->is_list() ? joined(type->items(), typescript_name) : typescript_name(*type);
}

Result<Value> go_typescript(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(input.weight()));
  return evaluator.text(typescript_type(input));
}

// The date so many days from today, as 2006-01-02.
Result<Value> go_date(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  const auto now = static_cast<std::time_t>(evaluator.now_s());
  std::tm local{};
  localtime_r(&now, &local);
  local.tm_mday +=
      static_cast<int>(input.is_integer() ? std::clamp<int64_t>(input.integer(), -1, 1) : 0);
  local.tm_isdst = -1;
  std::mktime(&local);  // carries the days over
  return Value(
      fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday));
}

constexpr Filter kFilters[] = {
    {"go_data", go_data},           {"go_date", go_date},   {"go_index", go_index},
    {"go_json", go_json},           {"go_len", go_len},     {"go_print", go_print},
    {"go_range", go_range},         {"go_slice", go_slice}, {"go_turns", go_turns},
    {"go_type_text", go_type_text}, {"go_types", go_types}, {"go_typescript", go_typescript},
};

}  // namespace

std::span<const Filter> go_filters() { return kFilters; }

}  // namespace puna::chat::jinja
