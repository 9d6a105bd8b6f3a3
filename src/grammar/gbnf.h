// GBNF, the grammar format of llama.cpp, as a front end. Rules may be recursive on either side.
// Source: grammars/README.md of llama.cpp. Terminals that are tokens (<think>, <[1000]>) are
// refused by name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/limits.h"

namespace puna::grammar {

// The grammar of the texts that the rule "root" matches.
// Errors: kInvalidArgument with line and column for what is no grammar, a rule that is not defined
// or defined twice, a grammar without root or one that no text fits; kUnsupported for what is
// refused; limits by name.
base::Result<std::shared_ptr<const Grammar>> gbnf_grammar(std::string_view text,
                                                          const Limits& limits = {});

// The same as a rule of a grammar that has more in it. `controls`: marks of control tokens, which
// may be written as the token wherever a literal has them.
base::Result<Symbol> write_gbnf(Builder& builder, std::string_view text,
                                std::span<const std::string> controls = {});

}  // namespace puna::grammar
