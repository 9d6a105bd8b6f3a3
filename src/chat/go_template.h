// Templates in Go's text/template as ollama's models carry them, as Jinja that template.h renders.
// Read next: go_template/ast.h, then go_template/translator.h; jinja/go_filters.cpp is what the
// translation calls.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::chat {

// A Jinja template that gives, for a conversation in Puna's form (messages.h), the prompt that
// ollama makes of it by the Go template `text`: messages of one role in a row are one, and a
// template that has no .Messages is rendered once a turn, with .System, .Prompt and .Response, and
// ends behind the last .Response. With variables `prompt` and `suffix` it fills in between, where
// the template has .Suffix. Errors: kInvalidArgument where it is no Go template, kUnsupported where
// it is one that cannot be translated; both with the line.
base::Result<std::string> from_go_template(std::string_view text);

}  // namespace puna::chat
