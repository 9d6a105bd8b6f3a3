#include "api/tool_choice.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_set>

#include "api/answer_fields.h"
#include "chat/call_frame.h"

namespace puna::api {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr size_t kMostAllowed = 1000;  // tools by name, each of which is looked for
constexpr std::string_view kChoices =
    "auto, none, required, {type: \"function\", name} or {type: \"allowed_tools\", mode, tools}";

constexpr Field kToolChoiceFields[] = {
    Field{"tool_choice", Kind::kAny,
          "auto: the model may call. required: it calls at least once. {type: \"function\", name}: "
          "it calls that tool, once. {type: \"allowed_tools\", mode, tools}: auto or required, of "
          "these tools. none: there are no tools."}
        .or_else("\"auto\"")
        .shaped(R"(["=auto|none|required",
                    {"type": "=function", "name?": "string", "function?": {"name": "string"}},
                    {"type": "=allowed_tools", "mode?": "=auto|required", "tools?": ["any"],
                     "allowed_tools?": "any"}])"),
    Field{"parallel_tool_calls", Kind::kFlag, "false: the answer ends behind its first call."}
        .or_else("true"),
};

// The name in {type: function, name} or {type: function, function: {name}}; empty: there is none.
std::string named_tool(const Json& json) {
  const Json* type = json.find("type");
  if (!json.is_object() || !type || *type != Json("function")) return {};
  const Json* name = chat::function_of(json).find("name");
  return name && name->is_string() ? name->string() : std::string();
}

Result<void> read_mode(const Json& mode, ToolUse& out) {
  if (mode == Json("required")) {
    out.choice.required = true;
  } else if (mode == Json("none")) {
    out.may_call = false;
  } else if (mode != Json("auto")) {
    return refuse_field("tool_choice", mode, kChoices);
  }
  return {};
}

Result<void> read_allowed(const Json& choice, ToolUse& out) {
  const Json* inner = choice.find("allowed_tools");
  const Json& allowed = inner ? *inner : choice;
  const Json* mode = allowed.find("mode");
  const Json* tools = allowed.find("tools");
  if (!mode || *mode == Json("none") || !tools || !tools->is_array() || tools->items().empty())
    return refuse_field("tool_choice", choice, kChoices);
  if (const size_t n = tools->items().size(); n > kMostAllowed) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The field \"tool_choice\" allows {} tools, but at most {} are possible.", n,
                    kMostAllowed));
  }
  PUNA_TRY(read_mode(*mode, out));
  for (const Json& tool : tools->items()) {
    out.choice.names.push_back(named_tool(tool));
    if (out.choice.names.back().empty()) return refuse_field("tool_choice", choice, kChoices);
  }
  return {};
}

}  // namespace

std::span<const Field> tool_choice_fields() { return kToolChoiceFields; }

Result<ToolUse> read_tool_choice(const Body& body) {
  ToolUse out;
  out.choice.one_call = !body.flag("parallel_tool_calls").value_or(true);
  const Json* choice = body.find("tool_choice");
  if (!choice) return out;
  if (!choice->is_object()) {
    PUNA_TRY(read_mode(*choice, out));
    return out;
  }
  const Json* type = choice->find("type");
  if (type && *type == Json("allowed_tools")) {
    PUNA_TRY(read_allowed(*choice, out));
    return out;
  }
  if (type && type->is_string() && *type != Json("function")) {
    return cannot("tool_choice", fmt::format("there are no tools of the type \"{}\"; functions of "
                                             "the client's are possible",
                                             type->string()));
  }
  out.choice.names.push_back(named_tool(*choice));
  if (out.choice.names.back().empty()) return refuse_field("tool_choice", *choice, kChoices);
  out.choice.required = out.choice.one_call = true;
  return out;
}

Result<void> check_names(const service::ToolChoice& choice, const Json& tools) {
  std::unordered_set<std::string_view> known;
  if (!choice.names.empty() && tools.is_array()) {
    for (const Json& tool : tools.items()) {
      const Json* own = chat::function_of(tool).find("name");
      if (own && own->is_string()) known.insert(own->string());
    }
  }
  for (const std::string& name : choice.names) {
    if (known.contains(name)) continue;
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The field \"tool_choice\" names \"{}\", which is none of the tools.", name));
  }
  return {};
}

}  // namespace puna::api
