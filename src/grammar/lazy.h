// Texts that are free until something stands in them, from which on a grammar holds. Being free is
// part of the grammar, so that no token goes across the place at which it ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace puna::grammar {

// All texts of bytes, control tokens too, that hold no text of `found`; and those that do not begin
// with one.
Expression free_of(Expressions& expressions, Expression found);
Expression not_beginning(Expressions& expressions, Expression begin);
Expression any_bytes(Expressions& expressions);
// Those that hold none of these texts, none of which is empty; as free_of(), but quick.
Expression lacking(Expressions& expressions, std::span<const std::string> texts);

// `marked` with control tokens in it: before any of these bytes kControl may stand.
Expression with_controls(Expressions& expressions, Expression marked, std::string_view bytes);

// What ends the free part of a text.
struct Trigger {
  enum class Kind : uint8_t {
    kText,         // this text, anywhere
    kPattern,      // what matches this regular expression, anywhere
    kPatternFull,  // the text up to there matches it as a whole
  };
  Kind kind = Kind::kText;
  std::string text;
  bool operator==(const Trigger&) const = default;
};

// Texts that are free as long as there is no trigger in them. One that has a trigger ends with what
// `bound` matches, in which the trigger is, or with which it begins. There is at least one trigger.
// Errors: those of regex.h.
base::Result<Symbol> write_lazily(Builder& builder, Symbol bound,
                                  std::span<const Trigger> triggers);

}  // namespace puna::grammar
