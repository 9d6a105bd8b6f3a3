#include "chat/jinja/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/tests.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::Result;
using Kind = Expression::Kind;

// Puts the place before an error of a built-in.
std::unexpected<base::Error> located(Position at, const base::Error& error) {
  return fail_at(at, error.code, error.message);
}

template <class T>
Result<T> located(Position at, Result<T> result) {
  if (!result) return located(at, result.error());
  return result;
}

}  // namespace

class Evaluator::Inside {
 public:
  explicit Inside(Evaluator& evaluator) : left_(evaluator.left_) { --left_.depth; }
  ~Inside() { ++left_.depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  bool too_deep() const { return left_.depth < 0; }

 private:
  Budget& left_;
};

Evaluator::Evaluator(const Value& context, const Budget& budget)
    : context_(context), left_(budget), scopes_(1) {}

Evaluator::~Evaluator() {
  for (const auto& each : namespaces_) each->members.clear();
}

Result<std::string> Evaluator::render(const Block& block) {
  std::string output;
  output_ = &output;
  PUNA_TRY(run(block));
  return output;
}

Result<void> Evaluator::spend(uint64_t steps) {
  if (steps > left_.steps) {
    left_.steps = 0;
    return base::fail(ErrorCode::kUnsupported, "the template takes more steps than it may");
  }
  left_.steps -= steps;
  return {};
}

Result<Value> Evaluator::text(std::string text) {
  PUNA_TRY(spend(text.size() / 8));
  return Value(std::move(text));
}

Value Evaluator::make_namespace(std::vector<std::pair<std::string, Value>> members) {
  namespaces_.push_back(std::make_shared<NamespaceData>(NamespaceData{std::move(members)}));
  return Value(namespaces_.back());
}

// ---- variables

const Value* Evaluator::find(std::string_view name) const {
  for (size_t scope = scope_;; scope = scopes_[scope].parent) {
    for (const auto& [own, value] : scopes_[scope].variables) {
      if (own == name) return &value;
    }
    if (scope == 0) return nullptr;
  }
}

void Evaluator::set(std::string_view name, Value value) {
  for (auto& [own, held] : scopes_[scope_].variables) {
    if (own == name) {
      held = std::move(value);
      return;
    }
  }
  scopes_[scope_].variables.emplace_back(name, std::move(value));
}

size_t Evaluator::push_scope(size_t parent) {
  const size_t before = scope_;
  scopes_.push_back({.variables = {}, .parent = parent});
  scope_ = scopes_.size() - 1;
  return before;
}

void Evaluator::pop_scope(size_t back_to) {
  scopes_.pop_back();
  scope_ = back_to;
}

Result<void> Evaluator::assign(const Target& target, Value value) {
  if (!target.member.empty()) {
    const Value* held = find(target.name);
    if (!held || !held->is_namespace()) {
      return fail_at(target.at, ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is no namespace, so its member \"{}\" cannot be set",
                                 target.name, target.member));
    }
    NamespaceData& space = held->name_space();
    if (Value* member = space.find(target.member)) {
      *member = std::move(value);
    } else {
      space.members.emplace_back(target.member, std::move(value));
    }
    return {};
  }
  if (target.parts.empty()) {
    set(target.name, std::move(value));
    return {};
  }
  PUNA_TRY(const auto items, located(target.at, items_of(*this, value)));
  if (items->items.size() != target.parts.size()) {
    return fail_at(target.at, ErrorCode::kInvalidArgument,
                   fmt::format("{} values cannot be unpacked into {} names", items->items.size(),
                               target.parts.size()));
  }
  for (size_t i = 0; i < target.parts.size(); ++i)
    PUNA_TRY(assign(target.parts[i], items->items[i]));
  return {};
}

// ---- statements

Result<Evaluator::Flow> Evaluator::run(const Block& block) {
  for (const Statement& statement : block) {
    PUNA_TRY(const Flow flow, run(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run(const Statement& statement) {
  const Inside inside(*this);
  if (inside.too_deep())
    return fail_at(statement.at, ErrorCode::kUnsupported, "blocks and macros nest too deep");
  PUNA_TRY(located(statement.at, spend(1)));
  using StatementKind = Statement::Kind;
  switch (statement.kind) {
    case StatementKind::kText:
      PUNA_TRY(emit(statement.text, statement.at));
      return Flow::kNext;
    case StatementKind::kOutput: {
      PUNA_TRY(const Value shown, eval(*statement.expressions[0]));
      PUNA_TRY(emit_value(shown, statement.at));
      return Flow::kNext;
    }
    case StatementKind::kIf:
      return run_if(statement);
    case StatementKind::kFor:
      return run_for(statement);
    case StatementKind::kSet: {
      PUNA_TRY(Value value, eval(*statement.expressions[0]));
      PUNA_TRY(assign(statement.targets[0], std::move(value)));
      return Flow::kNext;
    }
    case StatementKind::kSetBlock: {
      PUNA_TRY(Value text, block_output(statement));
      PUNA_TRY(assign(statement.targets[0], std::move(text)));
      return Flow::kNext;
    }
    case StatementKind::kFilter: {
      PUNA_TRY(const Value shown, block_output(statement));
      PUNA_TRY(emit_value(shown, statement.at));
      return Flow::kNext;
    }
    case StatementKind::kWith:
    case StatementKind::kScope:
      return run_with(statement);
    case StatementKind::kMacro:
      set(statement.text,
          CallableData{.name = statement.text,
                       .locates_errors = true,
                       .call = [&statement](Evaluator& evaluator, const Arguments& arguments) {
                         return evaluator.call_macro(statement, arguments, /*parent=*/0);
                       }});
      return Flow::kNext;
    case StatementKind::kCall:
      return run_call(statement);
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_if(const Statement& statement) {
  for (size_t i = 0; i < statement.expressions.size(); ++i) {
    PUNA_TRY(const Value decider, eval(*statement.expressions[i]));
    if (decider.truthy()) return run(statement.blocks[i]);
  }
  if (statement.blocks.size() > statement.expressions.size()) return run(statement.blocks.back());
  return Flow::kNext;
}

// What the loop goes over: all items, or those that its condition lets pass.
Result<std::shared_ptr<const ListData>> Evaluator::loop_items(const Statement& statement) {
  PUNA_TRY(const Value over, eval(*statement.expressions[0]));
  PUNA_TRY(auto items, located(statement.expressions[0]->at, items_of(*this, over)));
  if (!statement.expressions[1]) return items;
  std::vector<Value> passed;
  const size_t before = push_scope(scope_);
  for (const Value& item : items->items) {
    PUNA_TRY(assign(statement.targets[0], item));
    PUNA_TRY(const Value decider, eval(*statement.expressions[1]));
    if (decider.truthy()) passed.push_back(item);
  }
  pop_scope(before);
  PUNA_TRY(const Value list, Value::list(std::move(passed)));
  return list.list_data();
}

Result<Evaluator::Flow> Evaluator::run_for(const Statement& statement) {
  PUNA_TRY(const auto items, loop_items(statement));
  if (items->items.empty()) {
    if (statement.blocks.size() == 1) return Flow::kNext;
    const size_t before = push_scope(scope_);
    PUNA_TRY(const Flow flow, run(statement.blocks[1]));
    pop_scope(before);
    return flow;
  }
  const auto loop = std::make_shared<LoopData>(LoopData{.items = items, .last_changed = {}});
  for (loop->index = 0; loop->index < items->items.size(); ++loop->index) {
    const size_t before = push_scope(scope_);
    set("loop", Value(loop));
    PUNA_TRY(assign(statement.targets[0], items->items[loop->index]));
    PUNA_TRY(const Flow flow, run(statement.blocks[0]));
    pop_scope(before);
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Result<Value> Evaluator::capture(const Block& block) {
  std::string text;
  std::string* const outer = std::exchange(output_, &text);
  const Result<Flow> flow = run(block);
  output_ = outer;
  if (!flow) return std::unexpected(flow.error());
  return Value(std::move(text));
}

Result<Value> Evaluator::block_output(const Statement& statement) {
  const size_t before = push_scope(scope_);
  PUNA_TRY(Value text, capture(statement.blocks[0]));
  if (statement.expressions[0]) {
    set(kBlockOutput, std::move(text));
    PUNA_TRY(text, eval(*statement.expressions[0]));
  }
  pop_scope(before);
  return text;
}

Result<Evaluator::Flow> Evaluator::run_with(const Statement& statement) {
  std::vector<Value> values;  // computed before any of the names is set
  for (const ExpressionPtr& expression : statement.expressions) {
    PUNA_TRY(Value value, eval(*expression));
    values.push_back(std::move(value));
  }
  const size_t before = push_scope(scope_);
  for (size_t i = 0; i < values.size(); ++i)
    PUNA_TRY(assign(statement.targets[i], std::move(values[i])));
  PUNA_TRY(const Flow flow, run(statement.blocks[0]));
  pop_scope(before);
  return flow;
}

Result<Evaluator::Flow> Evaluator::run_call(const Statement& statement) {
  const Value caller = CallableData{
      .name = statement.text,
      .locates_errors = true,
      .call = [&statement, around = scope_](Evaluator& evaluator, const Arguments& arguments) {
        return evaluator.call_macro(statement, arguments, around);
      }};
  PUNA_TRY(const Value shown, eval_call(*statement.expressions.back(), &caller));
  PUNA_TRY(emit_value(shown, statement.at));
  return Flow::kNext;
}

// A macro sees its arguments and what is set at the top of the template.
Result<Value> Evaluator::call_macro(const Statement& macro, const Arguments& arguments,
                                    size_t parent) {
  const auto refuse_call = [&](std::string_view what) {
    return fail_at(macro.at, ErrorCode::kInvalidArgument,
                   fmt::format("the macro \"{}\" {}", macro.text, what));
  };
  // A template may keep caller() in a namespace, longer than what is around it lasts.
  if (parent >= scopes_.size()) return refuse_call("is called after its end");
  const size_t n = macro.parameters.size();
  if (arguments.positional.size() > n) {
    return refuse_call(
        fmt::format("takes {} arguments, but gets {}", n, arguments.positional.size()));
  }
  std::vector<Value> values = arguments.positional;
  std::vector<bool> given(values.size(), true);
  values.resize(n);
  given.resize(n);
  const Value* caller = nullptr;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(macro.parameters, name);
    if (found == macro.parameters.end() && name == "caller") {
      caller = &value;
      continue;
    }
    if (found == macro.parameters.end())
      return refuse_call(fmt::format("has no parameter \"{}\"", name));
    const auto i = static_cast<size_t>(found - macro.parameters.begin());
    if (given[i]) return refuse_call(fmt::format("gets two values for \"{}\"", name));
    values[i] = value;
    given[i] = true;
  }
  const size_t before = push_scope(parent);
  if (caller) set("caller", *caller);
  for (size_t i = 0; i < n; ++i) {
    if (!given[i] && macro.expressions[i]) {
      PUNA_TRY(values[i], eval(*macro.expressions[i]));
    } else if (!given[i]) {
      values[i] =
          Value::undefined(fmt::format("parameter \"{}\" was not provided", macro.parameters[i]));
    }
    set(macro.parameters[i], std::move(values[i]));
  }
  PUNA_TRY(Value text, capture(macro.blocks[0]));
  pop_scope(before);
  return text;
}

Result<void> Evaluator::emit(std::string_view text, Position at) {
  PUNA_TRY(located(at, spend(text.size() / 8)));
  if (text.size() > left_.output_bytes - std::min(left_.output_bytes, output_->size())) {
    return fail_at(at, ErrorCode::kUnsupported,
                   fmt::format("the output grows beyond {} bytes", left_.output_bytes));
  }
  *output_ += text;
  return {};
}

Result<void> Evaluator::emit_value(const Value& value, Position at) {
  if (value.is_string()) return emit(value.string(), at);
  PUNA_TRY(const std::string text, located(at, text_of(*this, value)));
  return emit(text, at);
}

// ---- expressions

Result<Value> Evaluator::eval(const Expression& expression) {
  const Inside inside(*this);
  if (inside.too_deep())
    return fail_at(expression.at, ErrorCode::kUnsupported, "blocks and macros nest too deep");
  PUNA_TRY(located(expression.at, spend(1)));
  return eval_kind(expression);
}

Result<Value> Evaluator::eval_kind(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kConstant:
      return expression.value;
    case Kind::kName: {
      if (const Value* held = find(expression.name)) return *held;
      if (const Value* given = context_.dict().find(Value(expression.name))) return *given;
      if (Value global = find_global(expression.name); !global.is_undefined()) return global;
      return Value::undefined(fmt::format("\"{}\" is undefined", expression.name));
    }
    case Kind::kList:
    case Kind::kTuple:
      return eval_list(expression);
    case Kind::kDict:
      return eval_dict(expression);
    case Kind::kAttribute: {
      PUNA_TRY(const Value object, eval(*expression.parts[0]));
      return located(expression.at, get_attribute(object, expression.name));
    }
    case Kind::kItem: {
      PUNA_TRY(const Value object, eval(*expression.parts[0]));
      PUNA_TRY(const Value key, eval(*expression.parts[1]));
      PUNA_TRY(located(expression.at, spend(object.is_string() ? object.weight() : 1)));
      return located(expression.at, get_item(object, key));
    }
    case Kind::kSlice:
      return eval_slice(expression);
    case Kind::kCall:
      return eval_call(expression);
    case Kind::kFilter:
      return eval_filter(expression);
    case Kind::kTest:
      return eval_test(expression);
    case Kind::kNot: {
      PUNA_TRY(const Value value, eval(*expression.parts[0]));
      return Value(!value.truthy());
    }
    case Kind::kNegative: {
      PUNA_TRY(const Value value, eval(*expression.parts[0]));
      return located(expression.at,
                     arithmetic(*this, "-", value.is_float() ? Value(-0.0) : Value(0), value));
    }
    case Kind::kPositive: {
      PUNA_TRY(const Value value, eval(*expression.parts[0]));
      return located(expression.at, arithmetic(*this, "+", Value(0), value));
    }
    case Kind::kBinary:
      return eval_binary(expression);
    case Kind::kConcat:
      return eval_concat(expression);
    case Kind::kAnd:
    case Kind::kOr: {
      Value value;
      for (const ExpressionPtr& part : expression.parts) {
        PUNA_TRY(value, eval(*part));
        if (value.truthy() == (expression.kind == Kind::kOr)) break;
      }
      return value;
    }
    case Kind::kCompare:
      return eval_compare(expression);
    case Kind::kConditional:
      return eval_conditional(expression);
  }
  return Value();
}

Result<Value> Evaluator::eval_list(const Expression& expression) {
  std::vector<Value> items;
  items.reserve(expression.parts.size());
  for (const ExpressionPtr& part : expression.parts) {
    PUNA_TRY(Value item, eval(*part));
    items.push_back(std::move(item));
  }
  const auto form =
      expression.kind == Kind::kTuple ? ListData::Form::kTuple : ListData::Form::kList;
  return located(expression.at, Value::list(std::move(items), form));
}

Result<Value> Evaluator::eval_dict(const Expression& expression) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < expression.parts.size(); i += 2) {
    PUNA_TRY(Value key, eval(*expression.parts[i]));
    PUNA_TRY(Value value, eval(*expression.parts[i + 1]));
    if (key.depth() > 0 && !key.is_tuple()) {
      return fail_at(expression.at, ErrorCode::kInvalidArgument,
                     fmt::format("a {} cannot be a key", key.type_name()));
    }
    PUNA_TRY(located(expression.at, spend(entries.size())));
    const auto same = std::ranges::find(entries, key, &std::pair<Value, Value>::first);
    if (same != entries.end()) {
      same->second = std::move(value);
    } else {
      entries.emplace_back(std::move(key), std::move(value));
    }
  }
  return located(expression.at, Value::dict(std::move(entries)));
}

Result<Value> Evaluator::eval_slice(const Expression& expression) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    parts[i] = Value::None{};
    if (expression.parts[i]) {
      PUNA_TRY(parts[i], eval(*expression.parts[i]));
    }
  }
  return located(expression.at, get_slice(*this, parts[0], parts[1], parts[2], parts[3]));
}

Result<Arguments> Evaluator::eval_arguments(const Expression& expression) {
  Arguments arguments;
  for (size_t i = 1; i < expression.parts.size(); ++i) {
    PUNA_TRY(Value value, eval(*expression.parts[i]));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, part] : expression.named) {
    PUNA_TRY(Value value, eval(*part));
    arguments.named.emplace_back(name, std::move(value));
  }
  return arguments;
}

Result<Value> Evaluator::eval_call(const Expression& expression, const Value* caller) {
  PUNA_TRY(const Value function, eval(*expression.parts[0]));
  if (!function.is_callable()) {
    return fail_at(expression.at, ErrorCode::kInvalidArgument,
                   function.is_undefined()
                       ? function.undefined_what()
                       : fmt::format("a value of type {} cannot be called", function.type_name()));
  }
  PUNA_TRY(Arguments arguments, eval_arguments(expression));
  if (caller) arguments.named.emplace_back("caller", *caller);
  Result<Value> value = function.callable().call(*this, arguments);
  if (value || function.callable().locates_errors) return value;
  return located(expression.at, std::move(value));
}

Result<Value> Evaluator::eval_filter(const Expression& expression) {
  if (!expression.filter) {
    return fail_at(expression.at, ErrorCode::kUnsupported,
                   fmt::format("the filter \"{}\" is not supported", expression.name));
  }
  PUNA_TRY(const Value input, eval(*expression.parts[0]));
  PUNA_TRY(const Arguments arguments, eval_arguments(expression));
  return located(expression.at, expression.filter->apply(*this, input, arguments));
}

Result<Value> Evaluator::eval_test(const Expression& expression) {
  if (!expression.test) {
    return fail_at(expression.at, ErrorCode::kUnsupported,
                   fmt::format("the test \"{}\" is not supported", expression.name));
  }
  PUNA_TRY(const Value input, eval(*expression.parts[0]));
  PUNA_TRY(const Arguments arguments, eval_arguments(expression));
  PUNA_TRY(const bool passed,
           located(expression.at, expression.test->apply(*this, input, arguments)));
  return Value(passed);
}

Result<Value> Evaluator::eval_concat(const Expression& expression) {
  std::string out;
  for (const ExpressionPtr& part : expression.parts) {
    PUNA_TRY(const Value value, eval(*part));
    PUNA_TRY(const std::string text, located(expression.at, text_of(*this, value)));
    out += text;
  }
  return located(expression.at, text(std::move(out)));
}

Result<Value> Evaluator::eval_compare(const Expression& expression) {
  PUNA_TRY(Value left, eval(*expression.parts[0]));
  for (size_t i = 0; i < expression.names.size(); ++i) {
    PUNA_TRY(Value right, eval(*expression.parts[i + 1]));
    PUNA_TRY(const bool holds,
             located(expression.at, compare(*this, expression.names[i], left, right)));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::eval_conditional(const Expression& expression) {
  PUNA_TRY(const Value decider, eval(*expression.parts[0]));
  if (decider.truthy()) return eval(*expression.parts[1]);
  if (expression.parts[2]) return eval(*expression.parts[2]);
  return Value::undefined("the conditional expression has no else");
}

Result<Value> Evaluator::eval_binary(const Expression& expression) {
  PUNA_TRY(const Value left, eval(*expression.parts[0]));
  PUNA_TRY(const Value right, eval(*expression.parts[1]));
  return located(expression.at, arithmetic(*this, expression.name, left, right));
}

}  // namespace puna::chat::jinja
