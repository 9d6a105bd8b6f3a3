// Nodes of a Go template to Jinja. Every value's type is known before the template runs, so what Go
// would fail at is refused here, and what it writes in its own way calls a filter. All text is put
// as strings into tags that trim, so the white space between the tags of the result means nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "chat/go_template/ast.h"

namespace puna::chat::go_template {

// Errors: kInvalidArgument and kUnsupported with the line.
base::Result<std::string> translate(Source source);

}  // namespace puna::chat::go_template
