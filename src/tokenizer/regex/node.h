// Inside regex/: an expression as a tree, between the parser and the compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/regex/char_set.h"

namespace puna::tokenizer::regex {

struct Node {
  static constexpr uint32_t kUnbounded = 0xFFFFFFFF;
  enum class Kind : uint8_t {
    kEmpty,
    kSet,           // one character of `set`
    kSequence,      // children in order
    kAlternatives,  // the first child that leads to a match
    kRepeat,        // children[0], least to most times
    kCapture,       // children[0], remembered as `group`
    kBackReference,
    kAtomic,         // children[0], which gives nothing back
    kLook,           // children[0] must (not, if negated) match here, ahead or behind
    kLineBegin,      // ^
    kLineEnd,        // $
    kTextBegin,      // \A
    kTextEnd,        // \z
    kTextEndOrLine,  // \Z
    kWordEdge,       // \b, \B if negated
    kSearchBegin,    // \G
  };
  enum class Greed : uint8_t { kGreedy, kLazy, kPossessive };

  Kind kind = Kind::kEmpty;
  Greed greed = Greed::kGreedy;
  bool negated = false;
  bool behind = false;
  uint32_t least = 1, most = 1;
  uint32_t group = 0;  // 1 for the first
  CharSet set{};
  std::vector<Node> children{};
};

struct Parsed {
  Node root;
  uint32_t n_groups = 0;
  bool has_back_references = false;
};

// The error of an expression with something that is not carried out, long ones shown from their
// beginning.
std::unexpected<base::Error> unsupported(std::string_view expression, std::string_view what);

// The tree of an expression in the syntax that Oniguruma has by default. Source: Oniguruma's
// doc/RE. Errors: kUnsupported with the place and what stands there.
base::Result<Parsed> parse(std::string_view expression);

}  // namespace puna::tokenizer::regex
