// Numbers and strings by a format specification. Source: Python's "Format Specification
// Mini-Language".
#include "chat/jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "chat/jinja/builtins.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

constexpr int64_t kMaxPrecision = 100'000;

bool is_one_of(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

// Digits with a separator between groups, at least `min_width` long by zeros in front, which are
// grouped too.
std::string grouped(std::string_view digits, size_t group, char separator, int64_t min_width) {
  std::string reversed;
  auto left = static_cast<int64_t>(digits.size());
  for (bool first = true; first || left > 0 || min_width > 0; first = false) {
    if (!first) {
      reversed += separator;
      --min_width;
    }
    const int64_t n =
        std::min<int64_t>(static_cast<int64_t>(group), std::max<int64_t>({left, min_width, 1}));
    for (int64_t i = 0; i < n; ++i, --left)
      reversed += left > 0 ? digits[static_cast<size_t>(left - 1)] : '0';
    min_width -= n;
  }
  return {reversed.rbegin(), reversed.rend()};
}

// The sign and prefix, the digits (which may be grouped) and what stands behind them.
Result<std::string> assembled(Evaluator& evaluator, const FormatSpec& spec, const std::string& sign,
                              std::string digits, std::string_view rest) {
  if (spec.grouping) {
    const bool zeros = spec.align == '=' && spec.fill == "0";
    const auto around = static_cast<int64_t>(sign.size() + rest.size());
    PUNA_TRY(evaluator.spend(zeros ? static_cast<uint64_t>(spec.width) / 8 : 0));
    const size_t group = is_one_of(spec.type, "bxXo") ? 4 : 3;
    digits = grouped(digits, group, spec.grouping, zeros ? spec.width - around : 0);
  }
  digits += rest;
  return padded(evaluator, spec, sign, digits, '>');
}

std::string sign_of(const FormatSpec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string printed(const char* pattern, int64_t precision, double value) {
  const int n = std::snprintf(nullptr, 0, pattern, static_cast<int>(precision), value);
  std::string out(static_cast<size_t>(n), '\0');
  std::snprintf(out.data(), out.size() + 1, pattern, static_cast<int>(precision), value);
  return out;
}

// A float without a type: as repr() writes it, or with so many digits, but always with a point or
// an exponent.
std::string general_float(int64_t precision, double value) {
  if (precision < 0) return float_text(value);
  precision = std::max<int64_t>(precision, 1);
  std::string text = printed("%.*e", precision - 1, value);
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  const auto without_zeros = [](std::string digits) {
    if (digits.find('.') == std::string::npos) return digits;
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
  };
  if (exponent < -4 || exponent >= precision - 1 + (value == 0 ? 1 : 0))
    return without_zeros(text.substr(0, e)) + text.substr(e);
  text = without_zeros(printed("%.*f", std::max<int64_t>(precision - 1 - exponent, 0), value));
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

Result<FormatSpec> parse_spec(std::string_view text) {
  FormatSpec spec;
  const auto first_bytes = text.empty() ? 0 : code_point_at(text, 0).bytes;
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  if (is_one_of(at(first_bytes), "<>=^")) {
    spec.fill = std::string(text.substr(0, first_bytes));
    spec.align = text[first_bytes];
    text.remove_prefix(first_bytes + 1);
  } else if (is_one_of(at(0), "<>=^")) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view set) {
    if (!is_one_of(at(0), set)) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  const auto number = [&](int64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool fits = error == std::errc();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return fits;
  };
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.alternate = take("#");
  if (take("0") && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '0';  // "=" for numbers, "<" for text
  }
  if (is_one_of(at(0), "0123456789") && !number(spec.width))
    return refuse("the width of a format is too large");
  spec.grouping = take(",_");
  if (take(".") && (!is_one_of(at(0), "0123456789") || !number(spec.precision)))
    return refuse("a format wants a number behind \".\"");
  if (text.size() > 1) return refuse(fmt::format("\"{}\" at the end of a format is unknown", text));
  if (!text.empty()) spec.type = text[0];
  if (spec.precision > kMaxPrecision)
    return refuse(
        fmt::format("the precision {} of a format is above {}", spec.precision, kMaxPrecision));
  return spec;
}

Result<std::string> format_string(Evaluator& evaluator, FormatSpec spec, std::string_view text) {
  if (spec.type && spec.type != 's')
    return refuse(fmt::format("the format \"{}\" does not work on a str", spec.type));
  if (spec.sign != '-' || spec.alternate || spec.grouping || spec.align == '=')
    return refuse("a str has no sign, \"#\", \"=\" or grouping in its format");
  if (spec.align == '0') spec.align = '<';
  if (spec.precision >= 0) {
    size_t end = 0;
    for (int64_t n = 0; n < spec.precision && end < text.size(); ++n)
      end += code_point_at(text, end).bytes;
    text = text.substr(0, end);
  }
  return padded(evaluator, spec, "", text, '<');
}

}  // namespace

Result<std::string> padded(Evaluator& evaluator, const FormatSpec& spec, std::string_view sign,
                           std::string_view body, char default_align) {
  const int64_t gap = spec.width - count_code_points(body) - static_cast<int64_t>(sign.size());
  std::string out(sign);
  if (gap <= 0) return out.append(body);
  const auto n = static_cast<uint64_t>(gap);
  PUNA_TRY(evaluator.spend(n * spec.fill.size() / 8 + 1));
  const auto fill = [&](uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) out += spec.fill;
  };
  const char align = spec.align ? spec.align : default_align;
  const uint64_t before = align == '<' ? 0 : align == '^' ? n / 2 : n;
  if (align != '=') out.clear();
  fill(before);
  if (align != '=') out += sign;
  out += body;
  fill(n - before);
  return out;
}

Result<std::string> format_integer(Evaluator& evaluator, const FormatSpec& given, int64_t value) {
  FormatSpec spec = given;
  if (is_one_of(spec.type, "eEfFgG%"))
    return format_float(evaluator, spec, static_cast<double>(value));
  if (spec.align == '0') spec.align = '=';
  if (spec.precision >= 0) return refuse("an int has no precision in its format");
  if (spec.grouping == ',' && is_one_of(spec.type, "bcoxXn"))
    return refuse(fmt::format("the format \"{}\" takes no \",\"", spec.type));
  if (spec.grouping && is_one_of(spec.type, "cn"))
    return refuse(fmt::format("the format \"{}\" takes no \"_\"", spec.type));
  if (spec.type == 'c') {
    if (spec.sign != '-' || spec.alternate) return refuse("a character has no sign in its format");
    if (value < 0 || value > 0x10FFFF) return refuse(fmt::format("{} is no character", value));
    std::string text;
    append_utf8(text, static_cast<uint32_t>(value));
    return padded(evaluator, spec, "", text, '>');
  }
  if (spec.type && !is_one_of(spec.type, "bdoxXn"))
    return refuse(fmt::format("the format \"{}\" does not work on an int", spec.type));
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string sign = sign_of(spec, value < 0);
  if (spec.alternate && is_one_of(spec.type, "boxX")) (sign += '0') += spec.type;
  std::string digits = spec.type == 'b'   ? fmt::format("{:b}", size)
                       : spec.type == 'o' ? fmt::format("{:o}", size)
                       : spec.type == 'x' ? fmt::format("{:x}", size)
                       : spec.type == 'X' ? fmt::format("{:X}", size)
                                          : std::to_string(size);
  return assembled(evaluator, spec, sign, std::move(digits), "");
}

Result<std::string> format_float(Evaluator& evaluator, const FormatSpec& given, double value) {
  FormatSpec spec = given;
  if (spec.align == '0') spec.align = '=';
  if (spec.type && !is_one_of(spec.type, "eEfFgGn%"))
    return refuse(fmt::format("the format \"{}\" does not work on a float", spec.type));
  if (spec.grouping && spec.type == 'n') return refuse("the format \"n\" takes no grouping");
  if (spec.type == '%') value *= 100;
  const std::string sign = sign_of(spec, std::signbit(value) && !std::isnan(value));
  const double size = std::fabs(value);
  PUNA_TRY(evaluator.spend(static_cast<uint64_t>(std::max<int64_t>(spec.precision, 0)) / 8 + 40));
  const char kind = spec.type == 'n' ? 'g' : spec.type == '%' ? 'f' : spec.type;
  std::string text;
  if (!std::isfinite(value)) {
    text = std::isnan(value) ? "nan" : "inf";
    if (is_one_of(kind, "EFG")) text = to_upper(text);
  } else if (!kind) {
    text = general_float(spec.precision, size);
  } else {
    const std::string pattern = fmt::format("%{}.*{}", spec.alternate ? "#" : "", kind);
    text = printed(pattern.c_str(), spec.precision < 0 ? 6 : spec.precision, size);
  }
  if (spec.type == '%') text += '%';
  size_t n_digits = 0;
  while (n_digits < text.size() && is_one_of(text[n_digits], "0123456789")) ++n_digits;
  return assembled(evaluator, spec, sign, text.substr(0, n_digits),
                   std::string_view(text).substr(n_digits));
}

Result<std::string> format_value(Evaluator& evaluator, const Value& value, std::string_view text) {
  if (text.empty()) return text_of(evaluator, value);
  if (!value.is_string() && !value.is_number())
    return refuse(fmt::format("a value of type {} takes no format", value.type_name()));
  PUNA_TRY(FormatSpec spec, parse_spec(text));
  if (value.is_string()) return format_string(evaluator, std::move(spec), value.string());
  if (value.is_float()) return format_float(evaluator, spec, value.number());
  return format_integer(evaluator, spec, value.integer());
}

}  // namespace puna::chat::jinja
