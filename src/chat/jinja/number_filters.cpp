// Filters that make or change numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"
#include "chat/jinja/unicode.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes out the underscores, which may stand between two digits; false where another one stands.
bool without_underscores(std::string_view text, int base, std::string& out) {
  const auto digit = [&](size_t i) {
    if (i >= text.size()) return false;
    const char lower = static_cast<char>(text[i] | 0x20);
    return is_digit(text[i]) || (base > 10 && lower >= 'a' && lower <= 'z');
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || !digit(i - 1) || !digit(i + 1)) {
      return false;
    }
  }
  return true;
}

// Trimmed, with the digits of other scripts as those of ASCII.
std::string with_ascii_digits(std::string_view text) {
  std::string out;
  text = trim(text);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const auto range = std::ranges::lower_bound(kDecimals, c.value, {}, &CodePointRange::last);
    if (c.value >= 0x80 && range != kDecimals.end() && c.value >= range->first) {
      out += static_cast<char>('0' + (c.value - range->first) % 10);  // whole tens in each range
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out;
}

// The number that a text holds, as float() reads it; false when it is none.
bool read_float(std::string_view text, double& out) {
  std::string number;
  if (!without_underscores(with_ascii_digits(text), 10, number)) return false;
  const std::string lower = to_lower(number);
  const size_t sign = lower.starts_with('-') || lower.starts_with('+') ? 1 : 0;
  const std::string_view size = std::string_view(lower).substr(sign);
  const bool special = size == "inf" || size == "infinity" || size == "nan";
  if (!special && (size.empty() || size.find_first_not_of("0123456789.e+-") != std::string::npos))
    return false;
  char* end = nullptr;
  out = std::strtod(lower.c_str(), &end);
  return *end == '\0' && end != lower.c_str();
}

enum class Read { kNumber, kNone, kTooLarge };

// int(text, base). Base 0 goes by the prefix.
Read read_integer(std::string_view given, int64_t base, int64_t& out) {
  if (base != 0 && (base < 2 || base > 36)) return Read::kNone;
  const std::string plain = with_ascii_digits(given);
  std::string_view text = plain;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char letter = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  const int64_t by_prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (by_prefix && (base == 0 || base == by_prefix)) {
    base = by_prefix;
    text.remove_prefix(text.substr(2).starts_with('_') ? 3 : 2);
  } else if (base == 0) {
    base = 10;
    if (text.starts_with('0') && text.find_first_not_of("0_") != std::string_view::npos)
      return Read::kNone;
  }
  std::string digits = negative ? "-" : "";
  if (text.empty() || text[0] == '-' || !without_underscores(text, static_cast<int>(base), digits))
    return Read::kNone;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, out, static_cast<int>(base));
  if (end != last || error == std::errc::invalid_argument) return Read::kNone;
  return error == std::errc() ? Read::kNumber : Read::kTooLarge;
}

std::unexpected<base::Error> refuse_size(const Value& value) {
  return refuse(fmt::format("the integer {} does not fit 64 bits", to_text(value)));
}

Result<Value> whole_part(const Value& shown, double number) {
  if (!(std::fabs(number) < 9223372036854775808.0)) return refuse_size(shown);
  return Value(static_cast<int64_t>(number));
}

Result<Value> to_integer(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"default=", "base="}));
  Value fallback = given[0] ? *given[0] : Value(0);
  if (input.is_undefined()) return refuse(input.undefined_what());
  if (input.is_integer() || input.is_bool()) return Value(input.integer());
  if (input.is_float())
    return std::isnan(input.number()) ? fallback : whole_part(input, input.number());
  if (!input.is_string()) return fallback;
  PUNA_TRY(evaluator.spend(input.weight()));
  const bool has_base = !given[1] || given[1]->is_integer() || given[1]->is_bool();
  int64_t value = 0;
  if (has_base) {
    const Read read = read_integer(input.string(), given[1] ? given[1]->integer() : 10, value);
    if (read == Read::kNumber) return Value(value);
    if (read == Read::kTooLarge) return refuse_size(input);
  }
  double number = 0;  // "42.23" is 42
  if (!read_float(input.string(), number) || !std::isfinite(number)) return fallback;
  return whole_part(input, number);
}

Result<Value> to_float(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"default="}));
  if (input.is_undefined()) return refuse(input.undefined_what());
  if (input.is_number()) return Value(input.number());
  double number = 0;
  if (input.is_string()) {
    PUNA_TRY(evaluator.spend(input.weight()));
    if (read_float(input.string(), number)) return Value(number);
  }
  return given[0] ? *given[0] : Value(0.0);
}

std::unexpected<base::Error> refuse_type(std::string_view filter, const Value& input) {
  return refuse(input.is_undefined() ? input.undefined_what()
                                     : fmt::format("{} does not work on a value of type {}", filter,
                                                   input.type_name()));
}

Result<Value> absolute(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  if (!input.is_number()) return refuse_type("abs", input);
  if (input.is_float()) return Value(std::fabs(input.number()));
  return input.integer() < 0 ? arithmetic(evaluator, "-", Value(0), input) : Value(input.integer());
}

// round() of an int to tens, hundreds ...: halves go to the even neighbour.
Result<Value> rounded_integer(const Value& input, int64_t precision) {
  const int64_t value = input.integer();
  if (precision >= 0) return Value(value);
  if (precision < -19) return Value(0);
  uint64_t unit = 1;
  for (int64_t i = 0; i > precision; --i) unit *= 10;  // up to 10^19, which fits
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  uint64_t units = size / unit;
  const uint64_t rest = size % unit;
  if (rest > unit / 2 || (rest == unit / 2 && units % 2 == 1)) ++units;
  uint64_t rounded = 0;
  if (__builtin_mul_overflow(units, unit, &rounded) || rounded > static_cast<uint64_t>(INT64_MAX))
    return refuse_size(input);
  return Value(value < 0 ? -static_cast<int64_t>(rounded) : static_cast<int64_t>(rounded));
}

// round() of a float: of its exact value, halves to the even neighbour.
Result<Value> rounded_float(double value, int64_t precision) {
  if (!std::isfinite(value) || value == 0 || precision > 323) return Value(value);
  std::string text;
  if (precision >= 0) {
    text = fmt::format("{:.{}f}", value, precision);
  } else {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17e", value);
    const int64_t n = std::atoi(std::strchr(digits, 'e') + 1) + 1 + precision;  // digits that stay
    if (n < 0 || precision < -400) return Value(std::copysign(0.0, value));
    if (n == 0) {
      const double unit = std::pow(10.0, static_cast<double>(-precision));
      return Value(std::copysign(std::fabs(value) > unit / 2 ? unit : 0.0, value));
    }
    text = fmt::format("{:.{}e}", value, n - 1);
  }
  const double out = std::strtod(text.c_str(), nullptr);
  if (std::isinf(out)) return refuse("the rounded number is too large");
  return Value(out);
}

Result<Value> rounded(Evaluator&, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"precision=", "method="}));
  const bool to_whole = given[0] && given[0]->is_none();
  PUNA_TRY(const int64_t precision,
           integer_or(to_whole ? nullptr : given[0], 0, "the precision of round"));
  PUNA_TRY(const std::string method, string_or(given[1], "common", "the method of round"));
  if (method != "common" && method != "ceil" && method != "floor")
    return refuse(fmt::format("the method \"{}\" of round is unknown", method));
  if (!input.is_number()) return refuse_type("round", input);
  if (method == "common") {
    if (!input.is_float()) return rounded_integer(input, precision);
    if (!to_whole) return rounded_float(input.number(), precision);
    return whole_part(input, std::nearbyint(input.number()));
  }
  if (to_whole || precision > 22 || precision < -300)
    return refuse("the precision of round with this method is a number up to 22");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  if (!std::isfinite(scaled)) return refuse(fmt::format("{} cannot be rounded", to_text(input)));
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value((whole == 0 ? 0.0 : whole) / scale);
}

Result<Value> file_size(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"binary="}));
  double bytes = 0;
  if (input.is_number()) {
    bytes = input.number();
  } else if (!input.is_string() || !read_float(input.string(), bytes)) {
    return refuse_type("filesizeformat", input);
  }
  const bool binary = given[0] && given[0]->truthy();
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return evaluator.text("1 Byte");
  if (std::isnan(bytes)) return evaluator.text(binary ? "nan YiB" : "nan YB");
  if (bytes < base) {
    PUNA_TRY(const Value whole, whole_part(input, bytes));
    return evaluator.text(fmt::format("{} Bytes", whole.integer()));
  }
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0;; ++i) {
    unit *= base;
    if (bytes >= unit && i + 1 < kPrefixes.size()) continue;
    const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
    return evaluator.text(
        fmt::format("{:.1f} {}{}B", base * bytes / unit, prefix, binary ? "i" : ""));
  }
}

constexpr Filter kFilters[] = {
    {"abs", absolute},  {"filesizeformat", file_size}, {"float", to_float}, {"int", to_integer},
    {"round", rounded},
};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }

}  // namespace puna::chat::jinja
