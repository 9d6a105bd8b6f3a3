// The evaluator's frame, its variables and expressions; statements.cpp has the statements.
#include "chat/jinja/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/evaluator_parts.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/tests.h"

namespace puna::chat::jinja {

using base::ErrorCode;
using base::Result;
using Kind = Expression::Kind;

Evaluator::Evaluator(const Value& context, const Budget& budget)
    : context_(context), left_(budget), top_(std::make_shared<Scope>()), scope_(top_) {}

Evaluator::~Evaluator() {
  for (const auto& each : namespaces_) each->members.clear();
  for (const auto& each : kept_scopes_) each->variables.clear();
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
  for (const Scope* scope = scope_.get(); scope; scope = scope->parent.get()) {
    for (const auto& [own, value] : scope->variables) {
      if (own == name) return &value;
    }
  }
  return nullptr;
}

void Evaluator::set(std::string_view name, Value value) {
  for (auto& [own, held] : scope_->variables) {
    if (own == name) {
      held = std::move(value);
      return;
    }
  }
  scope_->variables.emplace_back(name, std::move(value));
}

const Evaluator::ScopePtr& Evaluator::keep_scope() {
  if (kept_scopes_.empty() || kept_scopes_.back() != scope_) kept_scopes_.push_back(scope_);
  return scope_;
}

Result<void> Evaluator::assign(const Target& target, Value value) {
  if (!target.member.empty()) {
    const Value* held = find(target.name);
    if (!held || !held->is_namespace()) {
      return fail_at(target.at, ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is no namespace, so its member \"{}\" cannot be set",
                                 target.name, target.member));
    }
    if (target.member.starts_with('_')) {
      return fail_at(target.at, ErrorCode::kInvalidArgument,
                     fmt::format("a namespace takes no member with an underscore before its name "
                                 "(\"{}\")",
                                 target.member));
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
      PUNA_TRY(Value value, eval(*expression.parts[0]));
      if (value.is_float()) return value;
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
    if (!key.is_hashable()) {
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

// The entries of a dict as named arguments.
Result<void> Evaluator::add_named(const Value& dict, Arguments& arguments) {
  if (!dict.is_dict())
    return refuse(fmt::format("\"**\" wants a dict, not a value of type {}", dict.type_name()));
  PUNA_TRY(spend(dict.weight()));
  for (const auto& [key, value] : dict.dict().entries) {
    if (!key.is_string()) return refuse("the names of arguments are of type str");
    const auto same =
        std::ranges::find(arguments.named, key.string(), &std::pair<std::string, Value>::first);
    if (same != arguments.named.end())
      return refuse(fmt::format("the argument \"{}\" is given twice", key.string()));
    arguments.named.emplace_back(key.string(), value);
  }
  return {};
}

Result<Arguments> Evaluator::eval_arguments(const Expression& expression) {
  Arguments arguments;
  for (size_t i = 1; i < expression.parts.size(); ++i) {
    PUNA_TRY(Value value, eval(*expression.parts[i]));
    arguments.positional.push_back(std::move(value));
  }
  if (expression.spread) {
    PUNA_TRY(const Value more, eval(*expression.spread));
    PUNA_TRY(const auto list, located(expression.spread->at, items_of(*this, more)));
    PUNA_TRY(located(expression.spread->at, spend(list->items.size())));
    arguments.positional.insert(arguments.positional.end(), list->items.begin(), list->items.end());
  }
  for (const auto& [name, part] : expression.named) {
    PUNA_TRY(Value value, eval(*part));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (expression.spread_named) {
    PUNA_TRY(const Value more, eval(*expression.spread_named));
    PUNA_TRY(located(expression.spread_named->at, add_named(more, arguments)));
  }
  return arguments;
}

Result<Value> Evaluator::eval_call(const Expression& expression, const Value* caller) {
  PUNA_TRY(const Value function, eval(*expression.parts[0]));
  if (function.is_loop() && function.loop().again) {
    PUNA_TRY(const Arguments arguments, eval_arguments(expression));
    return function.loop().again(*this, arguments);
  }
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
