// Regular expressions as a front end: what ECMAScript and most other dialects write alike. Groups
// of every name, classes, \d \w \s, \p{...}, counts, lazy counts (which match the same texts),
// (?i) and (?s), and anchors where they can hold. Refused by name, with line and column:
// look-around, back-references, word boundaries, atomic groups, possessive counts.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "grammar/expression.h"
#include "grammar/grammar.h"
#include "grammar/limits.h"

namespace puna::grammar {

enum class RegexFit : uint8_t {
  kWhole,  // the whole text has to match, with anchors or without
  kPart,   // some part of it, as "pattern" of a JSON schema has it
};

// `.` is every character but line ends: U+000A, U+000D, U+2028, U+2029; with (?s) every one. \d and
// \w are of ASCII, \s is the white space of ECMAScript.
// Errors: kInvalidArgument with line and column for what is no expression; kUnsupported with the
// name of what is refused; limits by name.
base::Result<Expression> regex_expression(Expressions& expressions, std::string_view regex,
                                          RegexFit fit, const Limits& limits);

// The grammar of the texts that match as a whole.
base::Result<std::shared_ptr<const Grammar>> regex_grammar(std::string_view regex,
                                                           const Limits& limits = {});

}  // namespace puna::grammar
