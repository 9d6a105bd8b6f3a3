#include "chat/jinja/tests.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

template <bool (Value::*holds)() const>
Result<bool> is(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return (value.*holds)();
}

template <bool (*holds)(const Value&)>
Result<bool> when(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return holds(value);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_true(const Value& v) { return v.is_bool() && v.boolean(); }
bool is_false(const Value& v) { return v.is_bool() && !v.boolean(); }
// In Python an undefined value has the methods of a sequence.
bool is_sequence(const Value& v) {
  return v.is_string() || v.is_list() || v.is_dict() || v.is_undefined();
}

// Whether all cased letters are of one case, and there is one.
bool has_case(const Value& value, std::string (*change)(std::string_view),
              std::string (*other)(std::string_view)) {
  if (!value.is_string()) return false;
  return change(value.string()) == value.string() && other(value.string()) != value.string();
}
bool is_lower(const Value& v) { return has_case(v, to_lower, to_upper); }
bool is_upper(const Value& v) { return has_case(v, to_upper, to_lower); }

// An operator as a test: value is lessthan(2).
template <char op, bool or_equal>
Result<bool> compares(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"other"}));
  if (!given[0]) return refuse("the test wants a value to compare with");
  static constexpr std::string_view kOps[] = {"<", "<=", ">", ">=", "==", "!="};
  static constexpr size_t kFirst = op == '<' ? 0 : op == '>' ? 2 : op == '=' ? 4 : 5;
  return compare(evaluator, kOps[kFirst + (or_equal ? 1 : 0)], value, *given[0]);
}

Result<bool> is_in(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"seq"}));
  if (!given[0]) return refuse("the test wants a value to look in");
  return compare(evaluator, "in", value, *given[0]);
}

// Identity: for the values that Python keeps once, the same as equality within a type.
Result<bool> same_as(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"other"}));
  if (!given[0]) return refuse("the test wants a value to compare with");
  const Value& other = *given[0];
  if (value.is_list() && other.is_list()) return value.list_data() == other.list_data();
  if (value.is_dict() && other.is_dict()) return &value.dict() == &other.dict();
  return std::string_view(value.type_name()) == other.type_name() && value == other;
}

Result<bool> divisible_by(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"num"}));
  PUNA_TRY(const int64_t divisor, integer_or(given[0], 0, "the divisor"));
  PUNA_TRY(const int64_t number, integer_or(&value, 0, "the number"));
  if (divisor == 0) return refuse("division by zero");
  return divisor == -1 || number % divisor == 0;
}

template <bool odd>
Result<bool> has_parity(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const int64_t number, integer_or(&value, 0, "the number"));
  return (number % 2 != 0) == odd;
}

constexpr Test kTests[] = {
    {"!=", compares<'!', false>},
    {"<", compares<'<', false>},
    {"<=", compares<'<', true>},
    {"==", compares<'=', false>},
    {">", compares<'>', false>},
    {">=", compares<'>', true>},
    {"boolean", is<&Value::is_bool>},
    {"callable", is<&Value::is_callable>},
    {"defined", when<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compares<'=', false>},
    {"equalto", compares<'=', false>},
    {"even", has_parity<false>},
    {"false", when<is_false>},
    {"float", is<&Value::is_float>},
    {"ge", compares<'>', true>},
    {"greaterthan", compares<'>', false>},
    {"gt", compares<'>', false>},
    {"in", is_in},
    {"integer", is<&Value::is_integer>},
    {"iterable", when<is_sequence>},
    {"le", compares<'<', true>},
    {"lessthan", compares<'<', false>},
    {"lower", when<is_lower>},
    {"lt", compares<'<', false>},
    {"mapping", is<&Value::is_dict>},
    {"ne", compares<'!', false>},
    {"none", is<&Value::is_none>},
    {"number", is<&Value::is_number>},
    {"odd", has_parity<true>},
    {"sameas", same_as},
    {"sequence", when<is_sequence>},
    {"string", is<&Value::is_string>},
    {"true", when<is_true>},
    {"undefined", is<&Value::is_undefined>},
    {"upper", when<is_upper>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Test::name);
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace puna::chat::jinja
