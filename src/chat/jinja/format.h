// Text made by a pattern: the operator "%", str.format and format(value, spec), as Python has them.
// Widths and precisions are paid for in steps before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

// How one value is to be written: [[fill]align][sign][#][0][width][grouping][.precision][type].
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // < > ^ or = (between the sign and the digits); 0: as the type has it
  char sign = '-';         // or + or a space, before what is not negative
  bool alternate = false;  // 0x before hexadecimal digits, a point in every float ...
  int64_t width = 0;       // at least, in characters
  char grouping = '\0';    // , or _ between groups of digits
  int64_t precision = -1;  // -1: none is given
  char type = '\0';
};

// Text at the width of `spec`; `sign` is what "=" puts the fill behind.
base::Result<std::string> padded(Evaluator& evaluator, const FormatSpec& spec,
                                 std::string_view sign, std::string_view body, char default_align);
// An int or a float by the types b c d o x X n, and e E f F g G % and none.
base::Result<std::string> format_integer(Evaluator& evaluator, const FormatSpec& spec,
                                         int64_t value);
base::Result<std::string> format_float(Evaluator& evaluator, const FormatSpec& spec, double value);

// format(value, spec)
base::Result<std::string> format_value(Evaluator& evaluator, const Value& value,
                                       std::string_view spec);
// text % values, a tuple, a dict or one value
base::Result<Value> percent_format(Evaluator& evaluator, const Value& text, const Value& values);
// text.format(...)
base::Result<Value> brace_format(Evaluator& evaluator, const Value& text,
                                 const Arguments& arguments);

}  // namespace puna::chat::jinja
