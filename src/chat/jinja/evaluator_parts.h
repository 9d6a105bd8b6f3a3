// Inside the room: what the evaluator's two files, evaluator.cpp and statements.cpp, share.
#pragma once

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

}  // namespace puna::chat::jinja
