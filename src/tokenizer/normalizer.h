// The steps that rewrite text before it is cut into words, in order.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/pipeline/matches.h"
#include "tokenizer/vocabulary.h"

namespace puna::tokenizer {

class Normalizer {
 public:
  // Errors: kCorrupt for a charsmap, kUnsupported for an expression that is not understood.
  static base::Result<Normalizer> compile(std::span<const NormalizerStep> steps);

  // The text after all steps: `text` itself where nothing changes, else a string put into `kept`.
  std::string_view apply(std::string_view text, std::deque<std::string>& kept) const;
  bool empty() const { return steps_.empty(); }

 private:
  struct Step {
    NormalizerStep what;
    std::vector<Charsmap> charsmap;  // one for kCharsmap
    std::vector<Pattern> pattern;    // one for kReplaceMatches
  };
  // Appends the changed text to `out`; false when nothing changes, `out` being as it was.
  static bool apply_step(const Step& step, std::string_view text, std::string& out);

  std::vector<Step> steps_;
};

}  // namespace puna::tokenizer
