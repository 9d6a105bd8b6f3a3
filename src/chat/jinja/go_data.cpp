#include "chat/jinja/go_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/jinja/builtins.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

using Entries = std::vector<std::pair<Value, Value>>;

// The item of that key; undefined where there is none, or no dict.
Value item(const Value& dict, std::string_view key) {
  if (!dict.is_dict()) return {};
  const Value* found = dict.dict().find(Value(key));
  return found ? *found : Value();
}

Value string_item(const Value& dict, std::string_view key) {
  Value found = item(dict, key);
  return found.is_string() ? found : Value("");
}

bool is_absent(const Value& value) { return value.is_undefined() || value.is_none(); }

// ---- Messages

struct Message {
  std::string role, content, thinking;
  std::vector<Value> tool_calls;
  Value tool_name, tool_call_id;
};

Result<std::string> text_of_content(const Value& content) {
  if (is_absent(content)) return std::string();
  if (content.is_string()) return content.string();
  if (!content.is_list())
    return refuse(fmt::format("the content of a message is of type {}", content.type_name()));
  std::string text;
  for (const Value& part : content.items()) {
    const Value piece = item(part, "text");
    if (!piece.is_string())
      return refuse("a message has a part that is no text, for which a Go template has no place");
    text += piece.string();
  }
  return text;
}

// A map of Go, whose keys are always in order; so are those of the dicts in it.
Result<Value> sorted(const Value& value) {
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& each : value.items()) {
      PUNA_TRY(Value one, sorted(each));
      items.push_back(std::move(one));
    }
    return Value::list(std::move(items));
  }
  if (!value.is_dict()) return value;
  Entries entries;
  for (const auto& [key, each] : value.dict().entries) {
    PUNA_TRY(Value one, sorted(each));
    entries.emplace_back(key, std::move(one));
  }
  if (std::ranges::all_of(entries, [](const auto& each) { return each.first.is_string(); }))
    std::ranges::sort(entries, {}, [](const auto& each) { return each.first.string(); });
  return Value::dict(std::move(entries));
}

Result<Value> arguments_of(const Value& given) {
  if (is_absent(given)) return Value::dict({});
  if (given.is_dict()) return sorted(given);
  if (given.is_string()) {
    if (const auto json = base::Json::parse(given.string()); json && json->is_object()) {
      PUNA_TRY(const Value value, Value::from_json(*json));
      return sorted(value);
    }
  }
  return refuse("the arguments of a tool call are no JSON object");
}

Result<Value> tool_call(const Value& given) {
  const Value function = item(given, "function");
  PUNA_TRY(Value arguments, arguments_of(item(function, "arguments")));
  const Value index = item(function, "index");
  PUNA_TRY(Value out, Value::dict({{"Index", index.is_integer() ? index : Value(0)},
                                   {"Name", string_item(function, "name")},
                                   {"Arguments", std::move(arguments)}}));
  return Value::dict({{"ID", string_item(given, "id")}, {"Function", std::move(out)}});
}

Result<Message> read_message(const Value& given) {
  if (!given.is_dict()) return refuse("a message is no dict");
  Message out{.role = string_item(given, "role").string(),
              .content = {},
              .thinking = string_item(given, "thinking").string(),
              .tool_calls = {},
              .tool_name = string_item(given, "name"),
              .tool_call_id = string_item(given, "tool_call_id")};
  PUNA_TRY(out.content, text_of_content(item(given, "content")));
  if (out.thinking.empty()) out.thinking = string_item(given, "reasoning_content").string();
  const Value calls = item(given, "tool_calls");
  if (is_absent(calls)) return out;
  if (!calls.is_list()) return refuse("the tool calls of a message are no list");
  for (const Value& each : calls.items()) {
    PUNA_TRY(Value call, tool_call(each));
    out.tool_calls.push_back(std::move(call));
  }
  return out;
}

void append(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

// The messages, those of one role in a row as one; but each result of a tool is one of its own.
Result<std::vector<Message>> read_messages(Evaluator& evaluator, const Value& input) {
  std::vector<Message> out;
  if (is_absent(input)) return out;
  if (!input.is_list()) return refuse("the messages are no list");
  PUNA_TRY(evaluator.spend(input.weight()));
  for (const Value& each : input.items()) {
    PUNA_TRY(Message next, read_message(each));
    if (out.empty() || out.back().role != next.role || next.role == "tool") {
      out.push_back(std::move(next));
      continue;
    }
    Message& last = out.back();
    last.content += "\n\n" + next.content;
    append(last.thinking, next.thinking);
    std::ranges::move(next.tool_calls, std::back_inserter(last.tool_calls));
  }
  return out;
}

Result<Value> message_value(Message message) {
  PUNA_TRY(Value calls, Value::list(std::move(message.tool_calls)));
  PUNA_TRY(Value images, Value::list({}));
  return Value::dict({{"Role", std::move(message.role)},
                      {"Content", std::move(message.content)},
                      {"Thinking", std::move(message.thinking)},
                      {"Images", std::move(images)},
                      {"ToolCalls", std::move(calls)},
                      {"ToolName", std::move(message.tool_name)},
                      {"ToolCallID", std::move(message.tool_call_id)}});
}

// ---- Tools

// How Go writes a member of a struct: always, or unless it is empty.
struct Member {
  std::string_view key;
  bool always = false;
  Result<Value> (*convert)(const Value& value) = sorted;
};

// The members in their order, then what Go's structs do not know, in its own order.
Result<Value> ordered(const Value& given, std::initializer_list<Member> members) {
  Entries entries;
  const auto put = [&](const Value& key, const Value& value, const auto& convert) -> Result<void> {
    PUNA_TRY(Value converted, convert(value));
    entries.emplace_back(key, std::move(converted));
    return {};
  };
  for (const Member& member : members) {
    const Value value = item(given, member.key);
    if (value.truthy() || member.always) PUNA_TRY(put(member.key, value, member.convert));
  }
  if (!given.is_dict()) return Value::dict(std::move(entries));
  for (const auto& [key, value] : given.dict().entries) {
    const bool known =
        key.is_string() && std::ranges::find(members, key.string(), &Member::key) != members.end();
    if (!known) PUNA_TRY(put(key, value, sorted));
  }
  return Value::dict(std::move(entries));
}

Result<Value> as_string(const Value& value) { return value.is_string() ? value : Value(""); }

// One type stands for itself.
Result<Value> property_type(const Value& value) {
  return value.is_list() && value.items().size() == 1 ? value.items()[0] : value;
}

Result<Value> property(const Value& value);

Result<Value> properties_as_written(const Value& value) {
  if (!value.is_dict()) return Value();
  Entries entries;
  for (const auto& [key, each] : value.dict().entries) {
    PUNA_TRY(Value one, property(each));
    entries.emplace_back(key, std::move(one));
  }
  return Value::dict(std::move(entries));
}

Result<Value> property_list(const Value& value) {
  if (!value.is_list()) return value;
  std::vector<Value> items;
  for (const Value& each : value.items()) {
    PUNA_TRY(Value one, property(each));
    items.push_back(std::move(one));
  }
  return Value::list(std::move(items));
}

Result<Value> property(const Value& value) {
  if (!value.is_dict()) return sorted(value);
  return ordered(value, {{"anyOf", false, property_list},
                         {"type", false, property_type},
                         {"items"},
                         {"description"},
                         {"enum"},
                         {"properties", false, properties_as_written}});
}

Result<Value> properties_in_order(const Value& value) {
  PUNA_TRY(Value all, properties_as_written(value));
  if (!all.is_dict()) return all;
  Entries entries = all.dict().entries;
  if (std::ranges::all_of(entries, [](const auto& each) { return each.first.is_string(); }))
    std::ranges::sort(entries, {}, [](const auto& each) { return each.first.string(); });
  return Value::dict(std::move(entries));
}

Result<Value> parameters(const Value& value) {
  return ordered(value, {{"type", true, as_string},
                         {"$defs"},
                         {"items"},
                         {"required"},
                         {"properties", true, properties_in_order}});
}

Result<Value> function(const Value& value) {
  return ordered(value, {{"name", true, as_string},
                         {"description", true, as_string},
                         {"parameters", true, parameters}});
}

Result<Value> tools_value(Evaluator& evaluator, const Value* tools) {
  if (!tools || is_absent(*tools)) return Value();
  if (!tools->is_list()) return refuse("the tools are no list");
  PUNA_TRY(evaluator.spend(tools->weight()));
  std::vector<Value> items;
  for (const Value& each : tools->items()) {
    PUNA_TRY(Value tool,
             ordered(each, {{"type", true, as_string}, {"items"}, {"function", true, function}}));
    items.push_back(std::move(tool));
  }
  return Value::list(std::move(items));
}

// ---- The variables of a template

// .Think, .ThinkLevel and .IsThinkSet. Any level is thinking, and thinking without one is medium.
void add_thinking(Entries& entries, const Value* think, const Value* thinking, const Value* level) {
  const bool has_level = level && level->is_string() && level->truthy();
  const Value* flag = think && think->is_bool() ? think : thinking;
  const bool has_flag = flag && flag->is_bool();
  const bool on = has_flag ? flag->boolean() : has_level;
  entries.emplace_back("Think", on);
  entries.emplace_back("ThinkLevel", on ? (has_level ? *level : Value("medium")) : Value(""));
  entries.emplace_back("IsThinkSet", has_flag || has_level);
}

struct Turn {
  std::string system, prompt, response;
};

Result<std::vector<Turn>> turns_of(std::vector<Message> messages) {
  std::vector<Turn> turns(1);
  for (Message& message : messages) {
    Turn& turn = turns.back();
    if (!message.tool_calls.empty()) return refuse("the template has no place for tool calls");
    if (message.role == "assistant") {
      turn.response = std::move(message.content);
      continue;
    }
    if (message.role != "system" && message.role != "user") {
      return refuse(fmt::format("the template has no place for a message of the role \"{}\"",
                                message.role.substr(0, 40)));
    }
    const bool system = message.role == "system";
    const bool full = !turn.response.empty() || !turn.prompt.empty();
    Turn& next = full ? turns.emplace_back() : turn;
    (system ? next.system : next.prompt) = std::move(message.content);
  }
  return turns;
}

}  // namespace

Result<Value> go_data(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given,
           bind(arguments, {"tools=", "think=", "thinking=", "level=", "prompt=", "suffix="}));
  PUNA_TRY(std::vector<Message> messages, read_messages(evaluator, input));
  std::string system;
  bool first = true;
  std::vector<Value> items;
  for (Message& message : messages) {
    if (message.role == "system") {
      if (!std::exchange(first, false)) system += "\n\n";
      system += message.content;
    }
    PUNA_TRY(Value value, message_value(std::move(message)));
    items.push_back(std::move(value));
  }
  PUNA_TRY(Value list, Value::list(std::move(items)));
  PUNA_TRY(Value tools, tools_value(evaluator, given[0]));
  Entries entries{{"System", std::move(system)},
                  {"Messages", std::move(list)},
                  {"Tools", std::move(tools)},
                  {"Response", ""}};
  add_thinking(entries, given[1], given[2], given[3]);
  for (const auto& [name, value] : {std::pair("Prompt", given[4]), {"Suffix", given[5]}}) {
    PUNA_TRY(std::string text, string_or(value, "", "what a gap is filled by"));
    if (value) entries.emplace_back(name, std::move(text));
  }
  return Value::dict(std::move(entries));
}

Result<Value> go_turns(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"think=", "thinking=", "level="}));
  PUNA_TRY(std::vector<Message> messages, read_messages(evaluator, input));
  PUNA_TRY(std::vector<Turn> turns, turns_of(std::move(messages)));
  std::vector<Value> items;
  for (Turn& turn : turns) {
    Entries entries{{"System", std::move(turn.system)},
                    {"Prompt", std::move(turn.prompt)},
                    {"Response", std::move(turn.response)}};
    add_thinking(entries, given[0], given[1], given[2]);
    PUNA_TRY(Value value, Value::dict(std::move(entries)));
    items.push_back(std::move(value));
  }
  return Value::list(std::move(items));
}

}  // namespace puna::chat::jinja
