// Inside grammar/: a GBNF text as a tree, between its parser and its compiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/expression.h"
#include "grammar/limits.h"

namespace puna::grammar {

struct GbnfTree {
  enum class Kind : uint8_t {
    kCharacters,  // one of `set`
    kLiteral,     // `bytes`
    kRule,        // `rule`
    kSequence,    // parts
    kChoice,      // parts
    kRepeat,      // parts[0], least to most times
  };
  struct Node {
    Kind kind = Kind::kSequence;
    uint32_t rule = 0;
    uint32_t least = 0, most = 0;
    tokenizer::CharSet set{};
    std::string bytes{};
    std::vector<uint32_t> parts{};
  };
  struct Rule {
    std::string name;
    uint32_t body = kUnbounded;  // kUnbounded: not defined yet
    size_t first_use = 0;        // byte of the text
  };

  std::vector<Node> nodes;
  std::vector<Rule> rules;
  uint32_t root = 0;
};

// Errors: see gbnf_grammar.
base::Result<GbnfTree> parse_gbnf(std::string_view text, const Limits& limits);

}  // namespace puna::grammar
