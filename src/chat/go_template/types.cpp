#include "chat/go_template/types.h"

#include <algorithm>
#include <iterator>

namespace puna::chat::go_template {
namespace {

// In the order of the enum.
struct Row {
  std::string_view name;
  Form form;
  Items items{};
  bool map = false;
};

constexpr Row kRows[] = {
    {"a string", Form::kText},
    {"an integer", Form::kText, {Type::kInteger, Type::kInteger}},
    {"a float", Form::kPrint},
    {"a flag", Form::kBool},
    {"a JSON value", Form::kPrint, {Type::kAny, Type::kAny}, true},
    {"no value", Form::kPrint},
    {"a value of one type or another", Form::kNone},
    {"the data", Form::kNone},
    {"the data", Form::kNone},
    {"the data", Form::kNone},
    {"the messages", Form::kNone, {Type::kInteger, Type::kMessage}},
    {"a message", Form::kNone},
    {"the images of a message", Form::kNone, {Type::kInteger, Type::kAny}},
    {"the calls of a message", Form::kNone, {Type::kInteger, Type::kToolCall}},
    {"a tool call", Form::kNone},
    {"the function of a call", Form::kNone},
    {"the arguments of a call", Form::kJson, {Type::kString, Type::kAny}, true},
    {"the tools", Form::kJson, {Type::kInteger, Type::kTool}},
    {"a tool", Form::kJson},
    {"the function of a tool", Form::kJson},
    {"the parameters of a tool", Form::kJson},
    {"the properties of a tool", Form::kJson, {Type::kString, Type::kProperty}, true},
    {"a property of a tool", Form::kNone},
    {"a list of properties", Form::kNone, {Type::kInteger, Type::kProperty}},
    {"the type of a property", Form::kType, {Type::kInteger, Type::kString}},
    {"a list of strings", Form::kList, {Type::kInteger, Type::kString}},
    {"a list", Form::kList, {Type::kInteger, Type::kAny}},
};
static_assert(std::size(kRows) == static_cast<size_t>(Type::kValues) + 1);

constexpr Field kFields[] = {
    {Type::kData, "System", Type::kString, "System"},
    {Type::kData, "Messages", Type::kMessages, "Messages"},
    {Type::kData, "Tools", Type::kTools, "Tools"},
    {Type::kData, "Response", Type::kString, "Response"},
    {Type::kData, "Think", Type::kBool, "Think"},
    {Type::kData, "ThinkLevel", Type::kString, "ThinkLevel"},
    {Type::kData, "IsThinkSet", Type::kBool, "IsThinkSet"},
    {Type::kTurn, "System", Type::kString, "System"},
    {Type::kTurn, "Prompt", Type::kString, "Prompt"},
    {Type::kTurn, "Response", Type::kString, "Response"},
    {Type::kTurn, "Think", Type::kBool, "Think"},
    {Type::kTurn, "ThinkLevel", Type::kString, "ThinkLevel"},
    {Type::kTurn, "IsThinkSet", Type::kBool, "IsThinkSet"},
    {Type::kGap, "Prompt", Type::kString, "Prompt"},
    {Type::kGap, "Suffix", Type::kString, "Suffix"},
    {Type::kGap, "Response", Type::kString, "Response"},
    {Type::kGap, "Think", Type::kBool, "Think"},
    {Type::kGap, "ThinkLevel", Type::kString, "ThinkLevel"},
    {Type::kGap, "IsThinkSet", Type::kBool, "IsThinkSet"},
    {Type::kMessage, "Role", Type::kString, "Role"},
    {Type::kMessage, "Content", Type::kString, "Content"},
    {Type::kMessage, "Thinking", Type::kString, "Thinking"},
    {Type::kMessage, "Images", Type::kImages, "Images"},
    {Type::kMessage, "ToolCalls", Type::kToolCalls, "ToolCalls"},
    {Type::kMessage, "ToolName", Type::kString, "ToolName"},
    {Type::kMessage, "ToolCallID", Type::kString, "ToolCallID"},
    {Type::kToolCall, "ID", Type::kString, "ID"},
    {Type::kToolCall, "Function", Type::kCallFunction, "Function"},
    {Type::kCallFunction, "Index", Type::kInteger, "Index"},
    {Type::kCallFunction, "Name", Type::kString, "Name"},
    {Type::kCallFunction, "Arguments", Type::kArguments, "Arguments"},
    {Type::kTool, "Type", Type::kString, "type"},
    {Type::kTool, "Items", Type::kAny, "items", true},
    {Type::kTool, "Function", Type::kToolFunction, "function"},
    {Type::kToolFunction, "Name", Type::kString, "name"},
    {Type::kToolFunction, "Description", Type::kString, "description"},
    {Type::kToolFunction, "Parameters", Type::kParameters, "parameters"},
    {Type::kParameters, "Type", Type::kString, "type"},
    {Type::kParameters, "Defs", Type::kAny, "$defs", true},
    {Type::kParameters, "Items", Type::kAny, "items", true},
    {Type::kParameters, "Required", Type::kStrings, "required", true},
    {Type::kParameters, "Properties", Type::kProperties, "properties"},
    {Type::kProperty, "AnyOf", Type::kPropertyList, "anyOf", true},
    {Type::kProperty, "Type", Type::kPropertyType, "type", true},
    {Type::kProperty, "Items", Type::kAny, "items", true},
    {Type::kProperty, "Description", Type::kString, "description", true},
    {Type::kProperty, "Enum", Type::kValues, "enum", true},
    {Type::kProperty, "Properties", Type::kProperties, "properties", true},
};

const Row& row(Type type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::string_view name(Type type) { return row(type).name; }

const Field* find_field(Type owner, std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kFields, [&](const Field& each) { return each.owner == owner && each.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

Items items_of(Type type) { return row(type).items; }

Form form_of(Type type) { return row(type).form; }

bool is_map(Type type) { return row(type).map; }

bool has_length(Type type) {
  return type == Type::kString || type == Type::kNil ||
         (type != Type::kInteger && items_of(type).item != Type::kNil);
}

bool is_basic(Type type) {
  return type == Type::kString || type == Type::kInteger || type == Type::kFloat ||
         type == Type::kBool || type == Type::kAny || type == Type::kNil;
}

}  // namespace puna::chat::go_template
