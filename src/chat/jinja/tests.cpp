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
// In Python an undefined value has the methods of a sequence and can be called (which fails).
bool is_sequence(const Value& v) {
  return v.is_string() || v.has_indices() || v.is_dict() || v.is_undefined();
}
bool is_iterable(const Value& v) {
  return v.is_string() || v.is_list() || v.is_dict() || v.is_undefined() || v.is_loop();
}
bool is_callable(const Value& v) { return v.is_callable() || v.is_undefined() || v.is_loop(); }

template <bool (*of_text)(std::string_view)>
Result<bool> has_case(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(const std::string text, text_of(evaluator, value));
  return of_text(text);
}

// The name of a filter or test that there is.
template <class Known, const Known* (*look_up)(std::string_view)>
Result<bool> is_known(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (!value.is_hashable()) return refuse(fmt::format("a {} cannot be a name", value.type_name()));
  return value.is_string() && look_up(value.string());
}

// An operator as a test: value is lessthan(2).
template <char op, bool or_equal>
Result<bool> compares(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"other"}));
  static constexpr std::string_view kOps[] = {"<", "<=", ">", ">=", "==", "!="};
  static constexpr size_t kFirst = op == '<' ? 0 : op == '>' ? 2 : op == '=' ? 4 : 5;
  return compare(evaluator, kOps[kFirst + (or_equal ? 1 : 0)], value, *given[0]);
}

Result<bool> is_in(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"seq"}));
  return compare(evaluator, "in", value, *given[0]);
}

// Identity: for the values that Python keeps once, the same as equality within a type.
Result<bool> same_as(Evaluator&, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"other"}));
  const Value& other = *given[0];
  if (value.is_list() && other.is_list()) return value.list_data() == other.list_data();
  if (value.is_dict() && other.is_dict()) return &value.dict() == &other.dict();
  return std::string_view(value.type_name()) == other.type_name() && value == other;
}

// Whether value % divisor is `rest`, by the operator's rules.
Result<bool> leaves(Evaluator& evaluator, const Value& value, const Value& divisor, int64_t rest) {
  PUNA_TRY(const Value left, arithmetic(evaluator, "%", value, divisor));
  return left == Value(rest);
}

Result<bool> divisible_by(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"num"}));
  return leaves(evaluator, value, *given[0], 0);
}

template <bool odd>
Result<bool> has_parity(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  return leaves(evaluator, value, Value(2), odd ? 1 : 0);
}

constexpr Test kTests[] = {
    {"!=", compares<'!', false>},
    {"<", compares<'<', false>},
    {"<=", compares<'<', true>},
    {"==", compares<'=', false>},
    {">", compares<'>', false>},
    {">=", compares<'>', true>},
    {"boolean", is<&Value::is_bool>},
    {"callable", when<is_callable>},
    {"defined", when<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compares<'=', false>},
    {"equalto", compares<'=', false>},
    {"escaped", is<&Value::is_markup>},
    {"even", has_parity<false>},
    {"false", when<is_false>},
    {"filter", is_known<Filter, find_filter>},
    {"float", is<&Value::is_float>},
    {"ge", compares<'>', true>},
    {"greaterthan", compares<'>', false>},
    {"gt", compares<'>', false>},
    {"in", is_in},
    {"integer", is<&Value::is_integer>},
    {"iterable", when<is_iterable>},
    {"le", compares<'<', true>},
    {"lessthan", compares<'<', false>},
    {"lower", has_case<is_lower_text>},
    {"lt", compares<'<', false>},
    {"mapping", is<&Value::is_dict>},
    {"ne", compares<'!', false>},
    {"none", is<&Value::is_none>},
    {"number", is<&Value::is_number>},
    {"odd", has_parity<true>},
    {"sameas", same_as},
    {"sequence", when<is_sequence>},
    {"string", is<&Value::is_string>},
    {"test", is_known<Test, find_test>},
    {"true", when<is_true>},
    {"undefined", is<&Value::is_undefined>},
    {"upper", has_case<is_upper_text>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Test::name);
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace puna::chat::jinja
