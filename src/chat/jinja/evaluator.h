// Runs a parsed template. Everything costs steps, so that no template runs or grows without end.
// Errors that built-in filters, tests and functions return are fragments ("a value of type int
// cannot be iterated over"); the evaluator puts line and column before them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat/jinja/ast.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

struct Budget {
  uint64_t steps = 0;       // each about one operation, or 8 bytes of text made
  size_t output_bytes = 0;  // of the rendered text
  int depth = 0;            // of nested expressions, blocks and macro calls
  int64_t now_s = 0;        // Unix time for strftime_now
};

class Evaluator {
 public:
  // `context` is a dict of variables. Both arguments outlive the evaluator.
  Evaluator(const Value& context, const Budget& budget);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  base::Result<std::string> render(const Block& block);

  // For filters, tests and functions:
  base::Result<void> spend(uint64_t steps);  // Errors: kUnsupported when none are left
  base::Result<Value> text(std::string text);
  Value make_namespace(std::vector<std::pair<std::string, Value>> members);
  int64_t now_s() const { return left_.now_s; }

 private:
  enum class Flow { kNext, kBreak, kContinue };
  // Variables of one block. As in Jinja, macros and call blocks see the scopes that they are
  // written in, with what the variables hold when they are called, also after the block's end.
  struct Scope;
  using ScopePtr = std::shared_ptr<Scope>;
  struct Scope {
    std::vector<std::pair<std::string, Value>> variables{};
    ScopePtr parent{};  // null: the top of the template
  };
  class Inside;   // one level deeper, for as long as it lives
  class InScope;  // a new scope, for as long as it lives

  base::Result<Flow> run(const Block& block);
  base::Result<Flow> run(const Statement& statement);
  base::Result<Flow> run_if(const Statement& statement);
  base::Result<Flow> run_for(const Statement& statement, const Value& over, int depth);
  base::Result<std::shared_ptr<const ListData>> loop_items(const Statement& statement,
                                                           const Value& over);
  // loop(items): the loop again, seeing the scope `around` it.
  base::Result<Value> call_loop(const Statement& loop, const Arguments& arguments,
                                const ScopePtr& around, int depth);
  // Writes or sets what blocks[0] writes, through the filters.
  base::Result<Flow> run_captured(const Statement& statement);
  base::Result<Flow> run_with(const Statement& statement);
  template <class Run>
  base::Result<Flow> capture(std::string& text, Run&& run);  // what it writes
  // A macro, or the block of a call statement.
  Value make_macro(const Statement& macro);
  base::Result<Value> call_macro(const Statement& macro, const Arguments& arguments,
                                 const ScopePtr& around);
  using Variables = std::vector<std::pair<std::string, std::optional<Value>>>;
  base::Result<Variables> macro_variables(const Statement& macro, const Arguments& arguments);
  base::Result<Flow> run_call(const Statement& statement);
  base::Result<void> emit(std::string_view text, Position at);
  base::Result<void> emit_value(const Value& value, Position at);

  base::Result<Value> eval(const Expression& expression);
  base::Result<Value> eval_kind(const Expression& expression);
  base::Result<Value> eval_list(const Expression& expression);
  base::Result<Value> eval_dict(const Expression& expression);
  base::Result<Value> eval_slice(const Expression& expression);
  base::Result<Value> eval_call(const Expression& expression, const Value* caller = nullptr);
  base::Result<Value> eval_filter(const Expression& expression);
  base::Result<Value> eval_test(const Expression& expression);
  base::Result<Value> eval_concat(const Expression& expression);
  base::Result<Value> eval_compare(const Expression& expression);
  base::Result<Value> eval_conditional(const Expression& expression);
  base::Result<Value> eval_binary(const Expression& expression);
  base::Result<Arguments> eval_arguments(const Expression& expression);
  base::Result<void> add_named(const Value& dict, Arguments& arguments);

  const Value* find(std::string_view name) const;
  base::Result<void> assign(const Target& target, Value value);
  void set(std::string_view name, Value value);  // in the innermost scope
  const ScopePtr& keep_scope();                  // the innermost scope, for a function that sees it

  const Value& context_;
  Budget left_;
  ScopePtr top_, scope_;  // the outermost and the innermost
  std::string* output_ = nullptr;
  // Emptied at the end: they may hold each other.
  std::vector<std::shared_ptr<NamespaceData>> namespaces_;
  std::vector<ScopePtr> kept_scopes_;
};

}  // namespace puna::chat::jinja
