// Inside grammar/: what a Builder has gathered, as the compiler reads it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/grammar.h"

namespace puna::grammar {

struct Builder::Parts {
  enum class Kind : uint8_t {
    kLexeme,    // parts: none; `lexeme`
    kSequence,  // of parts
    kChoice,    // of parts
    kRepeat,    // parts[0], least to most times
    kDeclared,  // parts[0] when it is defined
  };
  struct Node {
    Kind kind = Kind::kSequence;
    uint32_t lexeme = 0;
    uint32_t least = 0, most = 0;
    std::string name{};
    std::vector<uint32_t> parts{};
  };
  struct LexemeName {
    Expression expression;
    std::string name;
    uint32_t node = 0;
  };

  struct Need {
    uint32_t node = 0;
    std::string what;
  };

  explicit Parts(const Limits& of) : limits(of), deadline(of) {}

  Symbol add(Node node);
  Symbol lexeme(Expression expression, std::string_view name);
  Symbol add(Kind kind, std::span<const Symbol> of);  // a sequence or a choice

  Limits limits;
  Deadline deadline;
  Expressions expressions;
  std::vector<Node> nodes;
  std::vector<LexemeName> lexemes;
  std::vector<Need> needs;
  std::unordered_map<uint32_t, uint32_t> lexeme_of;  // by the id of the expression
};

}  // namespace puna::grammar
