// Go template source to nodes.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/go_template/ast.h"

namespace puna::chat::go_template {

// Errors: kInvalidArgument with the line for what text/template refuses, kUnsupported for more
// nesting than kMaxNesting.
base::Result<Source> parse(std::string_view source);

}  // namespace puna::chat::go_template
