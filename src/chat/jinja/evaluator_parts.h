// Inside the room: what the evaluator's two files, evaluator.cpp and statements.cpp, share.
#pragma once

#include <memory>
#include <utility>

#include "chat/jinja/evaluator.h"
#include "chat/jinja/lexer.h"

namespace puna::chat::jinja {

// Puts the place before an error of a built-in.
inline std::unexpected<base::Error> located(Position at, const base::Error& error) {
  return fail_at(at, error.code, error.message);
}

template <class T>
base::Result<T> located(Position at, base::Result<T> result) {
  if (!result) return located(at, result.error());
  return result;
}

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

class Evaluator::InScope {
 public:
  InScope(Evaluator& evaluator, ScopePtr parent)
      : scope_(evaluator.scope_),
        before_(
            std::exchange(scope_, std::make_shared<Scope>(Scope{.parent = std::move(parent)}))) {}
  explicit InScope(Evaluator& evaluator) : InScope(evaluator, evaluator.scope_) {}
  ~InScope() { scope_ = std::move(before_); }
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;

 private:
  ScopePtr& scope_;
  ScopePtr before_;
};

}  // namespace puna::chat::jinja
