// The evaluator's statements: blocks, loops, macros and what they write.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/evaluator.h"
#include "chat/jinja/evaluator_parts.h"
#include "chat/jinja/write.h"

namespace puna::chat::jinja {

using base::ErrorCode;
using base::Result;

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
    case StatementKind::kOutput:
      for (const ExpressionPtr& expression : statement.expressions) {
        PUNA_TRY(const Value shown, eval(*expression));
        PUNA_TRY(emit_value(shown, statement.at));
      }
      return Flow::kNext;
    case StatementKind::kIf:
      return run_if(statement);
    case StatementKind::kFor: {
      PUNA_TRY(const Value over, eval(*statement.expressions[0]));
      return run_for(statement, over, /*depth=*/0);
    }
    case StatementKind::kSet: {
      PUNA_TRY(Value value, eval(*statement.expressions[0]));
      PUNA_TRY(assign(statement.targets[0], std::move(value)));
      return Flow::kNext;
    }
    case StatementKind::kSetBlock:
    case StatementKind::kFilter:
      return run_captured(statement);
    case StatementKind::kWith:
    case StatementKind::kScope:
      return run_with(statement);
    case StatementKind::kBlock: {
      const InScope block(*this, statement.scoped ? scope_ : top_);
      return run(statement.blocks[0]);
    }
    case StatementKind::kMacro:
      set(statement.text, make_macro(statement));
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
Result<std::shared_ptr<const ListData>> Evaluator::loop_items(const Statement& statement,
                                                              const Value& over) {
  PUNA_TRY(auto items, located(statement.expressions[0]->at, items_of(*this, over)));
  if (!statement.expressions[1]) return items;
  std::vector<Value> passed;
  const InScope condition(*this);
  for (const Value& item : items->items) {
    PUNA_TRY(assign(statement.targets[0], item));
    PUNA_TRY(const Value decider, eval(*statement.expressions[1]));
    if (decider.truthy()) passed.push_back(item);
  }
  PUNA_TRY(const Value list, Value::list(std::move(passed)));
  return list.list_data();
}

Result<Evaluator::Flow> Evaluator::run_for(const Statement& statement, const Value& over,
                                           int depth) {
  PUNA_TRY(const auto items, loop_items(statement, over));
  if (items->items.empty()) {
    if (statement.blocks.size() == 1) return Flow::kNext;
    const InScope otherwise(*this);
    return run(statement.blocks[1]);
  }
  const auto loop = std::make_shared<LoopData>();
  loop->items = items;
  loop->depth = depth;
  if (statement.recursive) {
    loop->again = [&statement, around = keep_scope(), depth](Evaluator& evaluator,
                                                             const Arguments& arguments) {
      return evaluator.call_loop(statement, arguments, around, depth + 1);
    };
  }
  const InScope body(*this);
  for (loop->index = 0; loop->index < items->items.size(); ++loop->index) {
    scope_->variables.clear();
    set("loop", Value(loop));
    PUNA_TRY(assign(statement.targets[0], items->items[loop->index]));
    PUNA_TRY(const Flow flow, run(statement.blocks[0]));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Result<Value> Evaluator::call_loop(const Statement& loop, const Arguments& arguments,
                                   const ScopePtr& around, int depth) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    return fail_at(loop.at, ErrorCode::kInvalidArgument,
                   "loop() takes one argument, what to go over");
  }
  const InScope call(*this, around);
  std::string text;
  PUNA_TRY(capture(text, [&] { return run_for(loop, arguments.positional[0], depth); }));
  return Value(std::move(text));
}

template <class Run>
Result<Evaluator::Flow> Evaluator::capture(std::string& text, Run&& run) {
  std::string* const outer = std::exchange(output_, &text);
  Result<Flow> flow = run();
  output_ = outer;
  return flow;
}

Result<Evaluator::Flow> Evaluator::run_captured(const Statement& statement) {
  Value value;
  {
    const InScope block(*this);
    std::string text;
    PUNA_TRY(const Flow flow, capture(text, [&] { return run(statement.blocks[0]); }));
    if (flow != Flow::kNext) return flow;  // what was written so far is lost, as in Jinja
    value = Value(std::move(text));
    if (statement.expressions[0]) {
      set(kBlockOutput, std::move(value));
      PUNA_TRY(value, eval(*statement.expressions[0]));
    }
  }
  if (statement.kind == Statement::Kind::kFilter) {
    PUNA_TRY(emit_value(value, statement.at));
  } else {
    PUNA_TRY(assign(statement.targets[0], std::move(value)));
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_with(const Statement& statement) {
  std::vector<Value> values;  // computed before any of the names is set
  for (const ExpressionPtr& expression : statement.expressions) {
    PUNA_TRY(Value value, eval(*expression));
    values.push_back(std::move(value));
  }
  const InScope block(*this);
  for (size_t i = 0; i < values.size(); ++i)
    PUNA_TRY(assign(statement.targets[i], std::move(values[i])));
  return run(statement.blocks[0]);
}

Result<Evaluator::Flow> Evaluator::run_call(const Statement& statement) {
  const Value caller = make_macro(statement);
  PUNA_TRY(const Value shown, eval_call(*statement.expressions.back(), &caller));
  PUNA_TRY(emit_value(shown, statement.at));
  return Flow::kNext;
}

Value Evaluator::make_macro(const Statement& macro) {
  const auto attribute = [&macro](std::string_view name) -> Value {
    if (name == "name") return macro.text;
    if (name == "caller") return macro.uses.caller;
    if (name == "catch_varargs") return macro.uses.varargs;
    if (name == "catch_kwargs") return macro.uses.kwargs;
    if (name != "arguments") return {};
    const std::vector<Value> names(macro.parameters.begin(), macro.parameters.end());
    return Value::list(names, ListData::Form::kTuple).value_or(Value());
  };
  return CallableData{
      .name = macro.text,
      .type = "Macro",
      .locates_errors = true,
      .call =
          [&macro, around = keep_scope()](Evaluator& evaluator, const Arguments& arguments) {
            return evaluator.call_macro(macro, arguments, around);
          },
      .attribute = attribute};
}

// What a call gives a macro, by name: its parameters (nothing where the call has none), then those
// of its own names that its block uses.
Result<Evaluator::Variables> Evaluator::macro_variables(const Statement& macro,
                                                        const Arguments& arguments) {
  const auto refuse_call = [&](std::string_view what) {
    return fail_at(macro.at, ErrorCode::kInvalidArgument,
                   fmt::format("the macro \"{}\" {}", macro.text, what));
  };
  const size_t n = macro.parameters.size();
  const size_t n_given = arguments.positional.size();
  if (n_given > n && !macro.uses.varargs)
    return refuse_call(fmt::format("takes {} arguments, but gets {}", n, n_given));
  Variables variables;
  for (size_t i = 0; i < n; ++i) {
    variables.emplace_back(macro.parameters[i], std::nullopt);
    if (i < n_given) variables[i].second = arguments.positional[i];
  }
  Value caller = Value::undefined("there is no call block, so no caller()");
  std::vector<std::pair<Value, Value>> others;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(macro.parameters, name);
    const auto i = static_cast<size_t>(found - macro.parameters.begin());
    if (i >= n_given && i < n) {
      variables[i].second = value;
    } else if (name == "caller" && macro.uses.caller) {
      caller = value;
    } else if (macro.uses.kwargs) {
      others.emplace_back(name, value);
    } else if (i < n) {
      return refuse_call(fmt::format("gets two values for \"{}\"", name));
    } else {
      return refuse_call(name == "caller" ? "does not use the call block's caller()"
                                          : fmt::format("has no parameter \"{}\"", name));
    }
  }
  if (macro.uses.caller) variables.emplace_back("caller", std::move(caller));
  if (macro.uses.kwargs) {
    PUNA_TRY(Value kwargs, located(macro.at, Value::dict(std::move(others))));
    variables.emplace_back("kwargs", std::move(kwargs));
  }
  if (macro.uses.varargs) {
    const auto first = arguments.positional.begin() + static_cast<ptrdiff_t>(std::min(n, n_given));
    PUNA_TRY(Value varargs, located(macro.at, Value::list({first, arguments.positional.end()},
                                                          ListData::Form::kTuple)));
    variables.emplace_back("varargs", std::move(varargs));
  }
  return variables;
}

// A macro sees its arguments and the scopes that it is written in.
Result<Value> Evaluator::call_macro(const Statement& macro, const Arguments& arguments,
                                    const ScopePtr& around) {
  PUNA_TRY(auto variables, macro_variables(macro, arguments));
  const InScope call(*this, around);
  for (size_t i = 0; i < variables.size(); ++i) {
    auto& [name, value] = variables[i];
    if (!value && macro.expressions[i]) {
      PUNA_TRY(value, eval(*macro.expressions[i]));
    }
    set(name, value ? *std::move(value)
                    : Value::undefined(fmt::format("parameter \"{}\" was not provided", name)));
  }
  std::string text;
  PUNA_TRY(capture(text, [&] { return run(macro.blocks[0]); }));
  return Value(std::move(text));
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

}  // namespace puna::chat::jinja
