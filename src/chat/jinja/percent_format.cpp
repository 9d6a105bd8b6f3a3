// text % values. Source: Python's "printf-style String Formatting".
#include <fmt/format.h>

#include <cmath>

#include "chat/jinja/builtins.h"
#include "chat/jinja/format.h"
#include "chat/jinja/text.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

class PercentFormat {
 public:
  PercentFormat(Evaluator& evaluator, const Value& text, const Value& values)
      : evaluator_(evaluator), text_(text.string()), escapes_(text.is_markup()), values_(values) {}

  Result<std::string> run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '%') {
        out_ += text_[at_++];
        continue;
      }
      ++at_;
      PUNA_TRY(conversion());
    }
    // Whatever can be asked for keys may have values left over.
    const bool keyed = values_.is_dict() || values_.is_undefined() ||
                       (values_.has_indices() && !values_.is_tuple());
    if (!keyed && n_used_ < n_values()) return refuse("the text has no place for all the values");
    return std::move(out_);
  }

 private:
  size_t n_values() const { return values_.is_tuple() ? values_.items().size() : 1; }
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  Result<Value> next_value() {
    if (n_used_ >= n_values()) return refuse("there are fewer values than the text has places");
    return values_.is_tuple() ? values_.items()[n_used_++] : (++n_used_, values_);
  }

  // %(name): the value of that key.
  Result<void> key(std::optional<Value>& value) {
    size_t depth = 1;
    const size_t start = ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')' && --depth == 0) break;
    }
    if (at_ == text_.size()) return refuse("a name behind \"%(\" is not closed");
    const std::string_view name = text_.substr(start, at_++ - start);
    if (!values_.is_dict()) return refuse("the text has names, so the value is to be a dict");
    const Value* found = values_.dict().find(Value(name));
    if (!found) return refuse(fmt::format("there is no value for \"{}\"", name));
    n_used_ = n_values();
    value = *found;
    return {};
  }

  Result<void> number(int64_t& out, bool& given) {
    given = true;
    if (now() == '*') {
      ++at_;
      PUNA_TRY(const Value value, next_value());
      PUNA_TRY(out, integer_or(&value, 0, "a width given by \"*\""));
      return {};
    }
    given = now() >= '0' && now() <= '9';
    for (out = 0; now() >= '0' && now() <= '9'; ++at_) {
      out = out * 10 + (now() - '0');
      if (out > 1'000'000'000) return refuse("the width of a format is too large");
    }
    return {};
  }

  Result<void> conversion() {
    if (now() == '%') {
      out_ += text_[at_++];
      return {};
    }
    std::optional<Value> value;
    if (now() == '(') PUNA_TRY(key(value));
    FormatSpec spec;
    bool left = false, zeros = false, given = false;
    for (;; ++at_) {
      if (now() == '-') {
        left = true;
      } else if (now() == '+') {
        spec.sign = '+';
      } else if (now() == ' ') {
        if (spec.sign != '+') spec.sign = ' ';
      } else if (now() == '#') {
        spec.alternate = true;
      } else if (now() == '0') {
        zeros = true;
      } else {
        break;
      }
    }
    PUNA_TRY(number(spec.width, given));
    if (spec.width < 0) {
      left = true;
      if (__builtin_sub_overflow(int64_t{0}, spec.width, &spec.width))
        return refuse("the width of a format is too large");
    }
    if (now() == '.') {
      ++at_;
      PUNA_TRY(number(spec.precision, given));
      spec.precision = given ? std::max<int64_t>(spec.precision, 0) : 0;
      if (spec.precision > 1'000'000) return refuse("the precision of a format is too large");
    }
    if (now() == 'h' || now() == 'l' || now() == 'L') ++at_;
    if (at_ == text_.size()) return refuse("the text ends within a format");
    const CodePoint type = code_point_at(text_, at_);
    const std::string_view shown = text_.substr(at_, type.bytes);
    at_ += type.bytes;
    if (std::string_view("diouxXeEfFgGcrsa").find(shown) == std::string_view::npos)
      return refuse(fmt::format("the format \"%{}\" is unknown", shown));
    spec.type = shown[0];
    if (!value) {
      PUNA_TRY(value, next_value());
    }
    spec.align = left ? '<' : '>';
    const bool numeric = std::string_view("diouxXeEfFgG").find(spec.type) != std::string_view::npos;
    if (numeric && zeros && !left) {
      spec.fill = "0";
      spec.align = '=';
    }
    PUNA_TRY(const std::string piece,
             numeric ? format_number(spec, *value) : format_text(spec, *value));
    PUNA_TRY(evaluator_.spend(1 + piece.size() / 8));
    out_ += piece;
    return {};
  }

  Result<std::string> format_number(FormatSpec spec, const Value& value) {
    if (!value.is_number()) {
      return refuse(value.is_undefined()
                        ? value.undefined_what()
                        : fmt::format("the format \"%{}\" does not work on a value of type {}",
                                      spec.type, value.type_name()));
    }
    if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos)
      return format_float(evaluator_, spec, value.number());
    if (value.is_float() && spec.type != 'd' && spec.type != 'i' && spec.type != 'u')
      return refuse(fmt::format("the format \"%{}\" wants an int", spec.type));
    if (value.is_float() && !(std::fabs(value.number()) < 9223372036854775808.0))
      return refuse(fmt::format("{} is no integer of 64 bits", to_repr(value)));
    const int64_t whole = value.is_float() ? static_cast<int64_t>(value.number()) : value.integer();
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const int64_t n_digits = std::exchange(spec.precision, -1);
    if (n_digits < 0) return format_integer(evaluator_, spec, whole);
    // The digits by themselves, then the width around them.
    PUNA_TRY(evaluator_.spend(static_cast<uint64_t>(n_digits) / 8));
    const FormatSpec plain{.sign = spec.sign, .alternate = spec.alternate, .type = spec.type};
    PUNA_TRY(const std::string all, format_integer(evaluator_, plain, whole));
    size_t prefix = all.find_first_of("0123456789");
    if (spec.alternate && spec.type != 'd') prefix += 2;
    std::string digits = all.substr(prefix);
    if (static_cast<int64_t>(digits.size()) < n_digits)
      digits.insert(0, static_cast<size_t>(n_digits) - digits.size(), '0');
    return padded(evaluator_, spec, all.substr(0, prefix), digits, '>');
  }

  Result<std::string> format_text(const FormatSpec& spec, const Value& value) {
    std::string text;
    if (spec.type == 'c') {
      if (value.is_string() && count_code_points(value.string()) == 1) {
        text = value.string();
      } else if ((value.is_integer() || value.is_bool()) && value.integer() >= 0 &&
                 value.integer() <= 0x10FFFF) {
        append_utf8(text, static_cast<uint32_t>(value.integer()));
      } else {
        return refuse("the format \"%c\" wants one character or its number");
      }
      return padded(evaluator_, spec, "", text, '>');
    }
    PUNA_TRY(evaluator_.spend(value.weight()));
    text = spec.type == 's' ? to_text(value) : spec.type == 'r' ? to_repr(value) : to_ascii(value);
    if (escapes_ && !(spec.type == 's' && value.is_markup())) text = html_escaped(text);
    if (spec.precision >= 0) {
      size_t end = 0;
      for (int64_t n = 0; n < spec.precision && end < text.size(); ++n)
        end += code_point_at(text, end).bytes;
      text.resize(end);
    }
    return padded(evaluator_, spec, "", text, '>');
  }

  Evaluator& evaluator_;
  std::string_view text_;
  bool escapes_;
  const Value& values_;
  std::string out_;
  size_t at_ = 0;
  size_t n_used_ = 0;
};

}  // namespace

Result<Value> percent_format(Evaluator& evaluator, const Value& text, const Value& values) {
  PUNA_TRY(evaluator.spend(text.weight()));
  PUNA_TRY(std::string out, PercentFormat(evaluator, text, values).run());
  return text_like(evaluator, text, std::move(out));
}

}  // namespace puna::chat::jinja
