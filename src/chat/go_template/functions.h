// Go's functions and ollama's as Jinja: one row of a table each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/go_template/types.h"

namespace puna::chat::go_template {

// A Jinja expression that gives a value. It holds brackets around whatever an operator could tear
// apart.
struct Value {
  std::string code{};
  Type type = Type::kNil;
  bool literal = false;  // a constant of the template; text: of a string
  std::string text{};
};

// Such a call. Errors: kInvalidArgument or kUnsupported with the line.
base::Result<Value> call_function(std::string_view name, const std::vector<Value>& arguments,
                                  int line);

// The text that an action writes for a value.
base::Result<std::string> written(const Value& value, int line);

// The Jinja expression of a value that is to be walked or measured.
std::string walked(const Value& value);

// A string of Jinja.
std::string quoted(std::string_view text);

}  // namespace puna::chat::go_template
