// A conversation as ollama hands it to Go templates: what .Messages, .Tools and the like are there.
// Structs become dicts: of messages and calls with the names of Go, of tools with those of JSON, in
// the order in which Go writes them.
#pragma once

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

// messages | go_data(tools, think, thinking, level, prompt, suffix): all that a template with
// .Messages can ask for, and .Prompt and .Suffix, where these are given.
base::Result<Value> go_data(Evaluator& evaluator, const Value& input, const Arguments& arguments);

// messages | go_turns(think, thinking, level): what a template without .Messages is rendered with,
// once for each; the last is the turn to be answered. Errors: kInvalidArgument for messages that
// such a template has no place for.
base::Result<Value> go_turns(Evaluator& evaluator, const Value& input, const Arguments& arguments);

}  // namespace puna::chat::jinja
