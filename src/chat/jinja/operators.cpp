// Arithmetic and comparisons, with Python's meaning.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja/builtins.h"
#include "chat/jinja/format.h"
#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

constexpr std::string_view kOverflow = "the integer result does not fit 64 bits";

std::unexpected<base::Error> refuse_types(std::string_view op, const Value& left,
                                          const Value& right) {
  return refuse(fmt::format("\"{}\" does not work on values of type {} and {}", op,
                            left.type_name(), right.type_name()));
}

// The rest of a division, with the sign of the divisor.
double python_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double python_floor_div(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return refuse("0 is raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b)
    return refuse("a negative number is raised to a power that is not whole");
  const double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b))
    return refuse("the result of \"**\" is too large");
  return Value(out);
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return refuse("0 is raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(out, base, &out))
      return refuse(std::string(kOverflow));
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
      return refuse(std::string(kOverflow));
  }
  return Value(out);
}

Result<Value> on_integers(std::string_view op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &out);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &out);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &out);
  } else if (op == "**") {
    return integer_power(a, b);
  } else if (b == 0) {
    return refuse("division by zero");
  } else if (op == "/") {
    return Value(static_cast<double>(a) / static_cast<double>(b));
  } else if (b == -1) {  // the one divisor that can overflow
    if (op == "%") return Value(0);
    overflow = __builtin_sub_overflow(int64_t{0}, a, &out);
  } else {
    const bool rounds_up = a % b != 0 && (a < 0) != (b < 0);  // C++ rounds to zero, Python down
    out = op == "//" ? a / b - (rounds_up ? 1 : 0) : a % b + (rounds_up ? b : 0);
  }
  if (overflow) return refuse(std::string(kOverflow));
  return Value(out);
}

Result<Value> on_floats(std::string_view op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return float_power(a, b);
  if (b == 0) return refuse("division by zero");
  if (op == "/") return Value(a / b);
  if (op == "%") return Value(python_mod(a, b));
  return Value(python_floor_div(a, b));
}

Result<Value> repeated(Evaluator& evaluator, const Value& what, int64_t times) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  const uint64_t size = what.is_string() ? what.string().size() : what.items().size();
  uint64_t total = 0;
  if (__builtin_mul_overflow(n, size, &total)) total = UINT64_MAX;
  PUNA_TRY(evaluator.spend(what.is_string() ? total / 8 : total));
  if (what.is_string()) {
    std::string text;
    text.reserve(static_cast<size_t>(total));
    for (uint64_t i = 0; size > 0 && i < n; ++i) text += what.string();
    return what.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
  }
  std::vector<Value> items;
  for (uint64_t i = 0; size > 0 && i < n; ++i)
    items.insert(items.end(), what.items().begin(), what.items().end());
  return Value::list(std::move(items), what.list_data()->form);
}

Result<Value> joined(Evaluator& evaluator, const Value& left, const Value& right) {
  if (left.is_markup() || right.is_markup()) {
    PUNA_TRY(evaluator.spend(left.weight() + right.weight()));
    return Value::markup(escaped_text(left) + escaped_text(right));
  }
  if (left.is_string()) return evaluator.text(left.string() + right.string());
  PUNA_TRY(evaluator.spend(left.items().size() + right.items().size()));
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return Value::list(std::move(items), left.list_data()->form);
}

// left < right. Errors: kInvalidArgument when Python knows no order of the two.
Result<bool> less(std::string_view op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_float() || right.is_float()) return left.number() < right.number();
    return left.integer() < right.integer();
  }
  if (left.is_string() && right.is_string())
    return left.string() < right.string();  // UTF-8 keeps code point order
  if (left.is_whole() && right.is_whole() && left.is_tuple() == right.is_tuple()) {
    const size_t n = std::min(left.items().size(), right.items().size());
    for (size_t i = 0; i < n; ++i) {
      if (left.items()[i] == right.items()[i]) continue;
      return less(op, left.items()[i], right.items()[i]);
    }
    return left.items().size() < right.items().size();
  }
  return refuse_types(op, left, right);
}

Result<bool> contains(const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) return refuse_types("in", item, container);
    return container.string().find(item.string()) != std::string::npos;
  }
  if (container.is_lazy()) {  // what is passed over in the search is gone
    const ListData& lazy = *container.list_data();
    while (lazy.n_taken < lazy.items.size()) {
      if (lazy.items[lazy.n_taken++] == item) return true;
    }
    return false;
  }
  if (container.is_list())
    return std::ranges::find(container.items(), item) != container.items().end();
  if (container.is_dict()) {
    if (!item.is_hashable()) return refuse(fmt::format("a {} cannot be a key", item.type_name()));
    return container.dict().find(item) != nullptr;
  }
  if (container.is_undefined()) return false;
  return refuse_types("in", item, container);
}

}  // namespace

Result<Value> arithmetic(Evaluator& evaluator, std::string_view op, const Value& left,
                         const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_float() || right.is_float()) return on_floats(op, left.number(), right.number());
    return on_integers(op, left.integer(), right.integer());
  }
  if (left.is_string() && op == "%") return percent_format(evaluator, left, right);
  if (left.is_undefined()) return refuse(left.undefined_what());
  if (right.is_undefined()) return refuse(right.undefined_what());
  const auto repeats = [](const Value& v) { return v.is_string() || v.is_whole(); };
  const auto counts = [](const Value& v) { return v.is_integer() || v.is_bool(); };
  if (op == "*" && repeats(left) && counts(right))
    return repeated(evaluator, left, right.integer());
  if (op == "*" && counts(left) && repeats(right))
    return repeated(evaluator, right, left.integer());
  if (op == "+" && ((left.is_string() && right.is_string()) ||
                    (left.is_whole() && right.is_whole() && left.is_tuple() == right.is_tuple()))) {
    return joined(evaluator, left, right);
  }
  return refuse_types(op, left, right);
}

Result<bool> compare(Evaluator& evaluator, std::string_view op, const Value& left,
                     const Value& right) {
  const bool searches = op == "in" || op == "not in";
  // A search compares what may be long with every item; plain comparisons end with the shorter one.
  uint64_t cost = std::min(left.weight(), right.weight());
  if (searches && right.is_list()) cost = right.weight() + right.items().size();
  if (searches && right.is_string()) cost = right.weight();
  PUNA_TRY(evaluator.spend(cost));
  if (op == "==") return left == right;
  if (op == "!=") return !(left == right);
  if (searches) {
    PUNA_TRY(const bool found, contains(right, left));
    return found == (op == "in");
  }
  if (left.is_undefined()) return refuse(left.undefined_what());
  if (right.is_undefined()) return refuse(right.undefined_what());
  if (op == "<") return less(op, left, right);
  if (op == ">") return less(op, right, left);
  const bool nan = (left.is_float() && std::isnan(left.number())) ||
                   (right.is_float() && std::isnan(right.number()));
  PUNA_TRY(const bool above, op == "<=" ? less(op, right, left) : less(op, left, right));
  return !above && !nan;
}

}  // namespace puna::chat::jinja
