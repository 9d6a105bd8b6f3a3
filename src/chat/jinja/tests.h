// The table of tests: value is name(arguments).
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

struct Test {
  std::string_view name;
  base::Result<bool> (*apply)(Evaluator& evaluator, const Value& input, const Arguments& arguments);
};

// Null when there is none of that name.
const Test* find_test(std::string_view name);

}  // namespace puna::chat::jinja
