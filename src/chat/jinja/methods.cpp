// The methods of lists, tuples, dicts and numbers, and the tables of all.
#include "chat/jinja/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "chat/jinja/builtins.h"

namespace puna::chat::jinja {
namespace {

using base::Result;
using Form = ListData::Form;

template <Form form>
Result<Value> dict_view(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.dict().entries.size() * 2));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries) {
    if (form == Form::kItems) {
      PUNA_TRY(Value pair, Value::list({key, value}, Form::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(form == Form::kKeys ? key : value);
    }
  }
  return Value::list(std::move(items), form);
}

Result<Value> dict_get(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"key", "default=", "/"}));
  if (!given[0]->is_hashable())
    return refuse(fmt::format("a {} cannot be a key", given[0]->type_name()));
  PUNA_TRY(evaluator.spend(1 + self.dict().entries.size() / 8));
  if (const Value* found = self.dict().find(*given[0])) return *found;
  return given[1] ? *given[1] : Value(Value::None{});
}

Result<Value> itself(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return self;
}

// {}.fromkeys(keys, value): a new dict.
Result<Value> from_keys(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  return dict_from_keys(evaluator, arguments);
}

constexpr NamedMethod kDictMethods[] = {
    {"copy", itself},
    {"fromkeys", from_keys},
    {"get", dict_get},
    {"items", dict_view<Form::kItems>},
    {"keys", dict_view<Form::kKeys>},
    {"values", dict_view<Form::kValues>},
};

Result<Value> list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"value", "/"}));
  PUNA_TRY(evaluator.spend(self.weight()));
  return Value(static_cast<int64_t>(std::ranges::count(self.items(), *given[0])));
}

Result<Value> list_index(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"value", "start=", "stop=", "/"}));
  PUNA_TRY(evaluator.spend(self.weight()));
  const auto length = static_cast<int64_t>(self.items().size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + length : at, 0, length);
  };
  if (self.is_range() && given[1]) return refuse("index() of a range takes one argument");
  PUNA_TRY(const int64_t first, integer_or(given[1], 0, "a bound"));
  PUNA_TRY(const int64_t last, integer_or(given[2], length, "a bound"));
  for (int64_t i = clamped(first); i < clamped(last); ++i) {
    if (self.items()[static_cast<size_t>(i)] == *given[0]) return Value(i);
  }
  return refuse("the value is not in the list");
}

constexpr NamedMethod kListMethods[] = {
    {"copy", itself},
    {"count", list_count},
    {"index", list_index},
};

constexpr NamedMethod kTupleMethods[] = {
    {"count", list_count},
    {"index", list_index},
};

Result<Value> bit_length(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  const int64_t value = self.integer();
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return Value(static_cast<int64_t>(std::bit_width(size)));
}

Result<Value> conjugate(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return self.is_float() ? self : Value(self.integer());
}

Result<Value> is_integer(Evaluator&, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return Value(std::isfinite(self.number()) && std::floor(self.number()) == self.number());
}

constexpr NamedMethod kIntegerMethods[] = {{"bit_length", bit_length}, {"conjugate", conjugate}};
constexpr NamedMethod kFloatMethods[] = {{"conjugate", conjugate}, {"is_integer", is_integer}};

// What would change a list or dict cannot be had, as in Jinja's sandbox, whatever keys a dict has.
constexpr std::string_view kListChanges[] = {"append", "clear",   "extend", "insert",
                                             "pop",    "reverse", "remove", "sort"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};

std::span<const NamedMethod> methods_of(const Value& self) {
  if (self.is_string()) return string_methods();
  if (self.is_dict()) return kDictMethods;
  if (self.has_form(Form::kList)) return kListMethods;
  if (self.has_indices()) return kTupleMethods;
  if (self.is_integer() || self.is_bool()) return kIntegerMethods;
  if (self.is_float()) return kFloatMethods;
  return {};
}

}  // namespace

Value find_method(const Value& self, std::string_view name) {
  const std::span<const NamedMethod> table = methods_of(self);
  const auto found = std::ranges::find(table, name, &NamedMethod::name);
  if (found == table.end()) return {};
  return CallableData{
      .name = std::string(name),
      .call = [self, call = found->call](Evaluator& evaluator, const Arguments& arguments) {
        return call(evaluator, self, arguments);
      }};
}

bool is_change(const Value& self, std::string_view name) {
  const auto has = [&](const auto& names) {
    return std::ranges::find(names, name) != std::end(names);
  };
  return self.is_dict() ? has(kDictChanges) : self.has_form(Form::kList) && has(kListChanges);
}

}  // namespace puna::chat::jinja
