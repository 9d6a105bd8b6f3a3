#include "chat/go_template/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/printable.h"
#include "chat/go_template.h"
#include "chat/go_template/functions.h"
#include "chat/go_template/parser.h"
#include "chat/go_template/types.h"
#include "chat/jinja/parser.h"

namespace puna::chat {

using base::ErrorCode;
using base::Result;

namespace go_template {
namespace {

// Named templates are put where they are called, so a few could grow without end.
constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr int kMaxCalls = 20;           // of named templates, one in another
constexpr size_t kMaxVariables = 1000;  // seen from one place; they are looked up one by one

constexpr std::string_view kThinking =
    "think=enable_thinking, thinking=thinking, level=reasoning_effort";

// The variables that are set again after they are declared, by name.
void find_assigned(const Nodes& nodes, std::set<std::string>& names) {
  for (const Node& node : nodes) {
    if (node.pipeline && !node.pipeline->declares)
      names.insert(node.pipeline->variables.begin(), node.pipeline->variables.end());
    find_assigned(node.body, names);
    find_assigned(node.otherwise, names);
  }
}

class Translator {
 public:
  explicit Translator(const Source& source) : source_(source) {
    find_assigned(source.main, assigned_);
    for (const auto& [name, nodes] : source.named) find_assigned(nodes, assigned_);
    out_ = "{#- A Go template, in Jinja. -#}\n";
    if (!assigned_.empty()) tag("set vars = namespace()");
  }

  // Writes nodes whose $ is the Jinja variable `data`.
  Result<void> write(const Nodes& nodes, Type type) {
    return body(nodes, {.code = "data", .type = type}, {.code = "data", .type = type});
  }

  void tag(std::string_view text) { out_ += fmt::format("{{%- {} -%}}\n", text); }
  std::string take() { return std::move(out_); }

 private:
  struct Variable {
    std::string name;
    Value value;
  };
  // What the dot and $ stand for.
  struct Place {
    Value dot, root;
  };

  std::unexpected<base::Error> fail(int line, std::string_view what) const {
    return fail_at(line, ErrorCode::kInvalidArgument, what);
  }

  std::unexpected<base::Error> unsupported(int line, std::string_view what) const {
    return fail_at(line, ErrorCode::kUnsupported, fmt::format("{} is not supported", what));
  }

  // A name that no other Jinja variable has.
  std::string fresh(std::string_view base) {
    std::string name;
    for (const char c : base) {
      const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9' && !name.empty());
      if (fits && name.size() < 20) name += c;
    }
    return fmt::format("{}_{}", name.empty() ? "v" : name, ++n_names_);
  }

  Result<void> body(const Nodes& nodes, const Value& dot, const Value& root) {
    const size_t n_variables = variables_.size();
    const Place place{dot, root};
    for (const Node& node : nodes) {
      PUNA_TRY(write_node(node, place));
      if (out_.size() > kMaxBytes) {
        return fail_at(node.line, ErrorCode::kUnsupported,
                       fmt::format("the translation is larger than {} bytes", kMaxBytes));
      }
    }
    variables_.resize(n_variables);
    return {};
  }

  Result<void> write_node(const Node& node, const Place& place) {
    switch (node.kind) {
      case Node::Kind::kText:
        out_ += fmt::format("{{{{- {} -}}}}\n", quoted(node.text));
        return {};
      case Node::Kind::kAction:
        return write_action(node, place);
      case Node::Kind::kIf:
      case Node::Kind::kWith:
        return write_choice(node, place);
      case Node::Kind::kRange:
        return write_range(node, place);
      case Node::Kind::kTemplate:
        return write_call(node, place);
      case Node::Kind::kBreak:
        // There it ends the else alone, for which Jinja has no word.
        if (in_else_) return unsupported(node.line, "break in the else of a range");
        tag("break");
        return {};
      case Node::Kind::kContinue:
        tag("continue");
        return {};
    }
    return {};
  }

  Result<void> write_action(const Node& node, const Place& place) {
    PUNA_TRY(const Value value, evaluate(*node.pipeline, place));
    if (!node.pipeline->variables.empty()) return {};
    PUNA_TRY(const std::string text, written(value, node.line));
    out_ += fmt::format("{{{{- {} -}}}}\n", text);
    return {};
  }

  // if and with. Variables of the pipeline are seen in both branches.
  Result<void> write_choice(const Node& node, const Place& place) {
    const size_t n_variables = variables_.size();
    PUNA_TRY(Value value, evaluate(*node.pipeline, place));
    const bool with = node.kind == Node::Kind::kWith;
    if (with && value.type == Type::kMixed)
      return unsupported(node.line, "with of values of several types");
    if (value.type == Type::kNil) {  // never true
      PUNA_TRY(body(node.otherwise, place.dot, place.root));
      variables_.resize(n_variables);
      return {};
    }
    if (with) {
      const std::string name = fresh("dot");
      tag(fmt::format("set {} = {}", name, value.code));
      value = {.code = name, .type = value.type};
    }
    tag("if " + value.code);
    PUNA_TRY(body(node.body, with ? value : place.dot, place.root));
    PUNA_TRY(write_otherwise(node, place));
    tag("endif");
    variables_.resize(n_variables);
    return {};
  }

  // A chain of else if stays one; it would nest too deep otherwise.
  Result<void> write_otherwise(const Node& node, const Place& place) {
    const Node* chained = &node;
    while (chained->otherwise.size() == 1) {
      const Node& next = chained->otherwise[0];
      if (next.kind != Node::Kind::kIf || !next.pipeline->variables.empty()) break;
      PUNA_TRY(const Value value, evaluate(*next.pipeline, place));
      if (value.type != Type::kNil) {
        tag("elif " + value.code);
        PUNA_TRY(body(next.body, place.dot, place.root));
      }
      chained = &next;
    }
    if (chained->otherwise.empty()) return {};
    tag("else");
    return body(chained->otherwise, place.dot, place.root);
  }

  Result<void> write_range(const Node& node, const Place& place) {
    const size_t n_variables = variables_.size();
    PUNA_TRY(const Value over, pipeline_value(*node.pipeline, place));
    const Items items = items_of(over.type);
    if (over.type == Type::kNil) return write_else(node, place);
    if (items.item == Type::kNil)
      return fail(node.line, fmt::format("range cannot go over {}", name(over.type)));
    const Value key{.code = fresh("key"), .type = items.key};
    const Value dot{.code = fresh("dot"), .type = items.item};
    tag(fmt::format("for {}, {} in {} | go_range", key.code, dot.code, walked(over)));
    const std::vector<std::string>& names = node.pipeline->variables;
    if (names.size() == 2 && over.type == Type::kInteger)
      return fail(node.line, "range over an integer sets one variable");
    for (size_t i = 0; i < names.size(); ++i) {
      const Value& value = names.size() == 2 && i == 0 ? key : dot;
      PUNA_TRY(set_variable(*node.pipeline, names[i], value));
    }
    const bool in_else = std::exchange(in_else_, false);
    PUNA_TRY(body(node.body, dot, place.root));
    in_else_ = in_else;
    variables_.resize(n_variables);
    if (!node.otherwise.empty()) {
      tag("else");
      PUNA_TRY(write_else(node, place));
    }
    tag("endfor");
    return {};
  }

  Result<void> write_else(const Node& range, const Place& place) {
    const bool in_else = std::exchange(in_else_, true);
    PUNA_TRY(body(range.otherwise, place.dot, place.root));
    in_else_ = in_else;
    return {};
  }

  Result<void> write_call(const Node& node, const Place& place) {
    const auto found = source_.named.find(node.text);
    if (found == source_.named.end()) {
      return fail(node.line,
                  fmt::format("there is no template \"{}\"", base::printable(node.text)));
    }
    if (n_calls_ == kMaxCalls) {
      return fail_at(node.line, ErrorCode::kUnsupported,
                     fmt::format("more than {} templates call each other", kMaxCalls));
    }
    Value dot{.code = "none", .type = Type::kNil};
    if (node.pipeline) {
      PUNA_TRY(dot, evaluate(*node.pipeline, place));
      const std::string name = fresh("dot");
      tag(fmt::format("set {} = {}", name, dot.code));
      dot = {.code = name, .type = dot.type};
    }
    // It sees no variables but its own, and its $ is its dot.
    std::vector<Variable> outside = std::exchange(variables_, {});
    ++n_calls_;
    PUNA_TRY(body(found->second, dot, dot));
    --n_calls_;
    variables_ = std::move(outside);
    return {};
  }

  // ---- Values

  // The value of a pipeline; its variables are set.
  Result<Value> evaluate(const Pipeline& pipeline, const Place& place) {
    PUNA_TRY(Value value, pipeline_value(pipeline, place));
    for (const std::string& name : pipeline.variables) {
      PUNA_TRY(set_variable(pipeline, name, value));
      value = *find_variable(name);
    }
    return value;
  }

  const Value* find_variable(std::string_view name) const {
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const Variable& each) { return each.name == name; });
    return found == variables_.rend() ? nullptr : &found->value;
  }

  Result<void> set_variable(const Pipeline& pipeline, const std::string& name, const Value& value) {
    if (pipeline.declares) {
      if (variables_.size() == kMaxVariables) {
        return fail_at(pipeline.line, ErrorCode::kUnsupported,
                       fmt::format("more than {} variables are set", kMaxVariables));
      }
      // What is set again, maybe from inside of a loop, has to be a member of a namespace.
      const bool is_set_again = assigned_.contains(name);
      const std::string code = (is_set_again ? "vars." : "") + fresh(name);
      tag(fmt::format("set {} = {}", code, value.code));
      variables_.push_back({name, {.code = code, .type = value.type}});
      return {};
    }
    const Value* variable = find_variable(name);
    if (!variable) return unknown_variable(pipeline.line, name);
    if (variable->type != value.type) {
      return fail_at(pipeline.line, ErrorCode::kUnsupported,
                     fmt::format("${} is {} and is set to {}", base::printable(name),
                                 go_template::name(variable->type), go_template::name(value.type)));
    }
    tag(fmt::format("set {} = {}", variable->code, value.code));
    return {};
  }

  std::unexpected<base::Error> unknown_variable(int line, std::string_view name) const {
    return fail(line, fmt::format("there is no variable ${}", base::printable(name)));
  }

  Result<Value> pipeline_value(const Pipeline& pipeline, const Place& place) {
    Value value;
    for (size_t i = 0; i < pipeline.commands.size(); ++i) {
      PUNA_TRY(value, command_value(pipeline.commands[i], place, i > 0 ? &value : nullptr));
      if (value.code.size() > kMaxBytes) {
        return fail_at(pipeline.line, ErrorCode::kUnsupported,
                       fmt::format("the translation is larger than {} bytes", kMaxBytes));
      }
    }
    return value;
  }

  // `last` (may be null) is one more argument.
  Result<Value> command_value(const Command& command, const Place& place, const Value* last) {
    const Operand& first = command[0];
    if (first.kind == Operand::Kind::kFunction) {
      std::vector<Value> arguments;
      for (size_t i = 1; i < command.size(); ++i) {
        PUNA_TRY(Value argument, operand_value(command[i], place));
        arguments.push_back(std::move(argument));
      }
      if (last) arguments.push_back(*last);
      return call_function(first.text, arguments, first.line);
    }
    if (command.size() > 1 || last)
      return fail(first.line, "a value that is no function is given arguments");
    if (first.kind == Operand::Kind::kNil) return fail(first.line, "nil is no command");
    return operand_value(first, place);
  }

  Result<Value> operand_value(const Operand& operand, const Place& place) {
    using Kind = Operand::Kind;
    switch (operand.kind) {
      case Kind::kDot:
        return with_fields(place.dot, operand);
      case Kind::kVariable: {
        if (operand.text.empty()) return with_fields(place.root, operand);
        const Value* found = find_variable(operand.text);
        if (!found) return unknown_variable(operand.line, operand.text);
        return with_fields(*found, operand);
      }
      case Kind::kFunction:
        return call_function(operand.text, {}, operand.line);
      case Kind::kString:
        return Value{.code = quoted(operand.text),
                     .type = Type::kString,
                     .literal = true,
                     .text = operand.text};
      case Kind::kInteger:
        if (operand.integer == INT64_MIN)
          return unsupported(operand.line, "an integer as small as that");
        return Value{
            .code = fmt::format("({})", operand.integer), .type = Type::kInteger, .literal = true};
      case Kind::kFloat:
        return Value{.code = fmt::format("({:.17e})", operand.number), .type = Type::kFloat};
      case Kind::kBool:
        return Value{.code = operand.integer ? "true" : "false", .type = Type::kBool};
      case Kind::kNil:
        return Value{.code = "none", .type = Type::kNil};
      case Kind::kPipeline: {
        PUNA_TRY(const Value value, evaluate(*operand.pipeline, place));
        return with_fields(value, operand);
      }
    }
    return fail(operand.line, "a word is not known");
  }

  Result<Value> with_fields(Value value, const Operand& operand) const {
    for (const std::string& field : operand.fields) {
      if (value.type == Type::kNil) {  // Go fails where it gets so far, and so does the filter
        value.code = fmt::format("({} | go_index({}))", value.code, quoted(field));
        continue;
      }
      const Field* found = find_field(value.type, field);
      if (found) {
        value = {.code = fmt::format("{}[{}]", value.code, quoted(found->key)),
                 .type = found->type};
        if (found->optional && found->type == Type::kString)
          value.code = fmt::format("({} or '')", value.code);
      } else if (is_map(value.type)) {
        value = {.code = fmt::format("({} | go_index({}))", value.code, quoted(field)),
                 .type = items_of(value.type).item};
      } else if (value.type == Type::kData || value.type == Type::kTurn ||
                 value.type == Type::kGap) {
        value = {.code = "none", .type = Type::kNil};
      } else {
        return fail(operand.line,
                    fmt::format("{} has no field .{}", name(value.type), base::printable(field)));
      }
    }
    return value;
  }

  const Source& source_;
  std::set<std::string> assigned_;
  std::vector<Variable> variables_;
  std::string out_;
  int n_names_ = 0, n_calls_ = 0;
  bool in_else_ = false;  // of a range, and in no other since
};

// How a conversation is rendered: at once by a template that has .Messages, turn by turn by
// another, whose last turn ends where the answer begins.
Result<void> write_conversation(Translator& out, Source& source) {
  if (source.mentions("messages")) {
    out.tag(fmt::format("set data = messages | go_data(tools=tools, {})", kThinking));
    return out.write(source.main, Type::kData);
  }
  out.tag(fmt::format("for data in messages | go_turns({})", kThinking));
  out.tag("if not loop.last");
  PUNA_TRY(out.write(source.main, Type::kTurn));
  out.tag("else");
  cut_behind_response(source.main);
  PUNA_TRY(out.write(source.main, Type::kTurn));
  out.tag("endif");
  out.tag("endfor");
  return {};
}

}  // namespace

Result<std::string> translate(Source source) {
  if (!source.mentions("messages") && !source.mentions("response")) {
    Node response{.kind = Node::Kind::kAction, .pipeline = std::make_unique<Pipeline>()};
    Operand field;
    field.fields.emplace_back("Response");
    response.pipeline->commands.emplace_back().push_back(std::move(field));
    source.main.push_back(std::move(response));
  }
  const bool fills_gaps = source.mentions("suffix");
  Translator out(source);
  if (fills_gaps) {
    out.tag("if suffix");
    out.tag(fmt::format("set data = [] | go_data(prompt=prompt, suffix=suffix, {})", kThinking));
    PUNA_TRY(out.write(source.main, Type::kGap));
    out.tag("else");
  }
  PUNA_TRY(write_conversation(out, source));
  if (fills_gaps) out.tag("endif");
  return out.take();
}

}  // namespace go_template

Result<std::string> from_go_template(std::string_view text) {
  const std::string_view why = "While translating a Go template";
  PUNA_TRY_CONTEXT(go_template::Source source, go_template::parse(text), std::string(why));
  PUNA_TRY_CONTEXT(std::string jinja, go_template::translate(std::move(source)), std::string(why));
  // What nests too deep for Jinja, or has strings that it does not take, is known only here.
  const auto parsed = jinja::parse(jinja);
  if (!parsed) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The Go template has no form in Jinja: {}", parsed.error().message));
  }
  return jinja;
}

}  // namespace puna::chat
