// Which tools an answer calls, as OpenAI's dialects say it.
#pragma once

#include <string_view>

#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/request.h"

namespace puna::api {

// The rows tool_choice and parallel_tool_calls.
std::span<const Field> tool_choice_fields();

struct ToolUse {
  bool may_call = true;  // else the tools are as good as not there
  service::ToolChoice choice;
};
// Both fields. A tool is named as in {type: function, name} or {type: function, function: {name}}.
// Errors: kInvalidArgument naming the field and what stands there; kUnsupported for tools that a
// server would run.
base::Result<ToolUse> read_tool_choice(const Body& body);

// kInvalidArgument where the choice names a tool that there is not.
base::Result<void> check_names(const service::ToolChoice& choice, const base::Json& tools);

}  // namespace puna::api
