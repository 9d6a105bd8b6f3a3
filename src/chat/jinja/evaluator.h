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
  struct Scope {
    std::vector<std::pair<std::string, Value>> variables;
    size_t parent = 0;  // index of the enclosing scope; scope 0 is its own
  };
  class Inside;  // one level deeper, for as long as it lives

  base::Result<Flow> run(const Block& block);
  base::Result<Flow> run(const Statement& statement);
  base::Result<Flow> run_if(const Statement& statement);
  base::Result<Flow> run_for(const Statement& statement, const Value& over, int depth);
  base::Result<std::shared_ptr<const ListData>> loop_items(const Statement& statement,
                                                           const Value& over);
  // loop(items): the loop again, seeing the scope `around` it.
  base::Result<Value> call_loop(const Statement& loop, const Arguments& arguments, size_t around,
                                int depth);
  base::Result<Value> block_output(const Statement& statement);  // of blocks[0], filtered
  base::Result<Flow> run_with(const Statement& statement);
  template <class Run>
  base::Result<Value> capture(Run&& run);  // what it writes
  // Of a macro, or of the block of a call statement, which sees the scope `parent` around it.
  base::Result<Value> call_macro(const Statement& macro, const Arguments& arguments, size_t parent);
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
  size_t push_scope(size_t parent);
  void pop_scope(size_t back_to);

  const Value& context_;
  Budget left_;
  std::vector<Scope> scopes_;
  size_t scope_ = 0;
  std::string* output_ = nullptr;
  std::vector<std::shared_ptr<NamespaceData>>
      namespaces_;  // emptied at the end: they may hold each other
};

}  // namespace puna::chat::jinja
