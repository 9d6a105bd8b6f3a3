// The tables of methods that values have; find_method() of builtins.h looks a method up.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

struct NamedMethod {
  std::string_view name;
  base::Result<Value> (*call)(Evaluator& evaluator, const Value& self, const Arguments& arguments);
};

std::span<const NamedMethod> string_methods();

// str.replace: `count` times at most, or wherever it is when that is negative.
base::Result<std::string> replaced(Evaluator& evaluator, std::string_view text,
                                   std::string_view before, std::string_view after, int64_t count);

}  // namespace puna::chat::jinja
