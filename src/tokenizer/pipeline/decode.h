// Inside pipeline/: the decoders of a tokenizer.json, from the texts of tokens to text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/pipeline/matches.h"

namespace puna::tokenizer {

class Decoders {
 public:
  // Errors: kUnsupported for an expression that is not known.
  static base::Result<Decoders> compile(const Pipeline& pipeline);

  // Where tokens do not make whole characters, the bytes come as they are (the library writes
  // U+FFFD for them).
  std::string decode(std::vector<std::string> tokens) const;

 private:
  struct Step {
    DecoderStep what;
    std::vector<Pattern> pattern;  // one for kReplace
  };
  static void apply(const Step& step, std::vector<std::string>& tokens);

  bool joins_with_spaces_ = false;
  std::vector<Step> steps_;
};

}  // namespace puna::tokenizer
