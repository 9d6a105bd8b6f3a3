// Inside pipeline/: the pre-tokenizers of a tokenizer.json over a text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/pipeline/matches.h"

namespace puna::tokenizer {

class PreTokenizers {
 public:
  // Errors: kUnsupported for an expression that is not known.
  static base::Result<PreTokenizers> compile(std::span<const PreTokenizerStep> steps);

  // The words of a text. `at_start`: nothing stood before it in what encode was given.
  std::vector<std::string> cut(std::string_view text, bool at_start) const;

 private:
  struct Step {
    PreTokenizerStep what;
    std::vector<Pattern> pattern;  // one where the step has an expression
  };
  struct Piece {
    std::string text;
    bool at_start;
  };
  static void apply(const Step& step, Piece piece, std::vector<Piece>& out);

  std::vector<Step> steps_;
};

}  // namespace puna::tokenizer
