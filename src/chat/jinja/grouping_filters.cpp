// Filters that cut a sequence into parts, and the few that fit no other file.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"

namespace puna::chat::jinja {
namespace {

using base::Result;
using Form = ListData::Form;
using Items = std::vector<Value>;

Result<int64_t> part_size(const Value* given, std::string_view what) {
  PUNA_TRY(const int64_t size, integer_or(given, 0, what));
  if (size < 1) return refuse(fmt::format("{} is {}, but must be at least 1", what, size));
  return size;
}

// batch(n, fill): rows of n items, the last filled up when `fill` is given.
Result<Value> batch(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"linecount", "fill_with="}));
  PUNA_TRY(const int64_t size, part_size(given[0], "the size of a batch"));
  const bool fills = given[1] && !given[1]->is_none();
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(evaluator.spend(list->items.size() + static_cast<uint64_t>(fills ? size : 0)));
  const auto n = static_cast<size_t>(size);
  Items rows;
  for (size_t at = 0; at < list->items.size(); at += n) {
    const size_t end = std::min(at + n, list->items.size());
    Items row;
    for (size_t i = at; i < end; ++i) row.push_back(list->items[i]);
    if (fills) row.resize(n, *given[1]);
    PUNA_TRY(Value value, Value::list(std::move(row)));
    rows.push_back(std::move(value));
  }
  return Value::list(std::move(rows), Form::kLazy);
}

// slice(n, fill): n columns as even as can be, the longer ones first.
Result<Value> slice(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"slices", "fill_with="}));
  PUNA_TRY(const int64_t size, part_size(given[0], "the number of slices"));
  const bool fills = given[1] && !given[1]->is_none();
  PUNA_TRY(const auto list, items_of(evaluator, input));
  PUNA_TRY(evaluator.spend(list->items.size() + static_cast<uint64_t>(size)));
  const auto n = static_cast<size_t>(size);
  const size_t each = list->items.size() / n;
  const size_t longer = list->items.size() % n;
  Items columns;
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    Items column;
    for (size_t left = each + (i < longer ? 1 : 0); left > 0; --left)
      column.push_back(list->items[at++]);
    if (fills && i >= longer) column.push_back(*given[1]);
    PUNA_TRY(Value value, Value::list(std::move(column)));
    columns.push_back(std::move(value));
  }
  return Value::list(std::move(columns), Form::kLazy);
}

// The attribute alone, never a key of that name.
Result<Value> attribute(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"name"}));
  PUNA_TRY(const std::string name, string_or(given[0], "", "the name of an attribute"));
  if (input.is_dict()) return find_method(input, name);
  return get_attribute(input, name);
}

constexpr Filter kFilters[] = {{"attr", attribute}, {"batch", batch}, {"slice", slice}};

}  // namespace

std::span<const Filter> grouping_filters() { return kFilters; }

}  // namespace puna::chat::jinja
