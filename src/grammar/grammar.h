// Grammar: what all front ends make, and what texts are matched against. Lexemes are regular
// expressions over bytes; rules put lexemes and rules together, freely: they may be recursive, on
// either side, and ambiguous, and lexemes may overlap. A text fits where any reading of its bytes
// fits; there is no longest match. Read next: expression.h, chart.h, matcher.h.
//
//   Builder builder;
//   Expressions& e = builder.expressions();
//   const Symbol comma = builder.lexeme(e.literal(","));
//   const Symbol item = builder.declare("item");
//   builder.define(item, builder.choice({number, builder.sequence({open, items, close})}));
//   PUNA_TRY(auto grammar, std::move(builder).build(item));
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/expression.h"
#include "grammar/limits.h"

namespace puna::grammar {

// A lexeme or a rule of one Builder.
struct Symbol {
  uint32_t id = 0;
  bool operator==(const Symbol&) const = default;
};

// A grammar that can be matched; see rules.h. It does not change, so texts and threads may share
// one.
class Grammar;

class Builder {
 public:
  // The time that is allowed starts here.
  explicit Builder(const Limits& limits = {});
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  const Limits& limits() const;
  const Deadline& deadline() const;
  Expressions& expressions();

  // A text that matches the expression; it may be empty. Equal expressions are one lexeme. `name`:
  // what an error says of it, such as "rule \"ident\"" or "#/properties/a/pattern".
  Symbol lexeme(Expression expression, std::string_view name = {});
  Symbol literal(std::string_view bytes);  // lexeme(expressions().literal(bytes))

  // Rules without a name. All take symbols that are declared, but not yet defined.
  Symbol empty();    // the empty text
  Symbol nothing();  // no text: whatever needs it is dropped; an error where the start does
  Symbol sequence(std::span<const Symbol> parts);
  Symbol sequence(std::initializer_list<Symbol> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  Symbol choice(std::span<const Symbol> parts);
  Symbol choice(std::initializer_list<Symbol> parts) {
    return choice(std::span(parts.begin(), parts.size()));
  }
  // `part`, least to most times (kUnbounded: without end); least <= most. Any count costs one rule.
  Symbol repeat(Symbol part, uint32_t least, uint32_t most);
  Symbol optional(Symbol part) { return repeat(part, 0, 1); }

  // A rule that is used before it is known, or by itself. Define each once.
  Symbol declare(std::string_view name);
  void define(Symbol declared, Symbol body);

  // An error where no text matches `part`, which is used by others; `what` is what it says.
  void need(Symbol part, std::string_view what);

  // The grammar of the texts that `start` matches.
  // Errors, all kInvalidArgument: a rule that is declared only; a grammar that no text matches;
  // more rules, states of a lexeme, nodes of expressions or time than the limits say, each with the
  // limit's name.
  base::Result<std::shared_ptr<const Grammar>> build(Symbol start) &&;

  struct Parts;  // see builder_parts.h

 private:
  std::unique_ptr<Parts> parts_;
};

// Whether a text fits as a whole, and whether one can that begins with it. Byte by byte, without a
// vocabulary: for tests and tools.
bool accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text);
bool accepts_prefix(const std::shared_ptr<const Grammar>& grammar, std::string_view text);

}  // namespace puna::grammar
