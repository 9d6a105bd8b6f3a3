// Sets of texts as expressions: what schemas say of strings and of the names of properties. They
// are about the characters that a JSON text means; as_json() is how those are written.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/derivative.h"
#include "grammar/expression.h"
#include "grammar/limits.h"

namespace puna::grammar {

class Languages {
 public:
  Languages(Expressions& expressions, const Limits& limits, const Deadline& deadline);

  Expressions& expressions() { return e_; }
  Expression any() const { return any_; }  // all texts of UTF-8
  // Of two sets of such texts; a complement, which has other bytes too, is none.
  Expression both(Expression a, Expression b);

  // Whether certainly no text matches. Errors: kInvalidArgument that names a limit.
  base::Result<bool> is_nothing(Expression of);
  // Whether a text does.
  bool contains(Expression of, std::string_view text);

  // The texts of JSON that mean one of `of`, with their quotes. Escaped is what has to be, unless
  // any string will do, of which anything may be escaped.
  Expression as_json(Expression of);
  // Those of `of` that hold none of these texts. Where counts would make it too many states, those
  // that have not even one of their first bytes. Errors: kInvalidArgument that names a limit.
  base::Result<Expression> avoiding(Expression of, std::span<const std::string> texts);
  // Those of `of` that are none of `others`, in which nothing is counted; as
  // Expressions::without(), but lengths cost little. Errors: kInvalidArgument that names a limit.
  base::Result<Expression> without(Expression of, Expression others);

 private:
  Expression any_json();
  // What both match, as one automaton; none: it would have too many states. Errors:
  // kInvalidArgument that names another limit.
  base::Result<std::optional<Expression>> product(Expression a, Expression b);

  Expressions& e_;
  const Limits& limits_;
  const Deadline& deadline_;
  Derivatives derivatives_;
  Expression any_, any_json_;
  std::array<Expression, 256> written_;  // how a byte of a text is written
  std::unordered_map<uint32_t, bool> nothings_;
  // What avoiding() gave for these texts.
  std::vector<std::string> avoided_;
  std::unordered_map<uint32_t, Expression> without_avoided_;
  std::unordered_map<uint64_t, Expression> without_;  // what without() gave, by both ids
};

}  // namespace puna::grammar
