// The table of pre-tokenizers: how a byte-level BPE model cuts text into words before it merges, by
// the name that GGUF gives it in tokenizer.ggml.pre.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::tokenizer {

struct PreTokenizer {
  std::string_view name;
  std::span<const std::string_view>
      expressions;           // see split.h; each cuts the pieces of the one before
  bool whole_words = false;  // a word that is a token is taken whole, whatever the merges say
  bool nfc = false;          // text is brought into NFC first
};

std::span<const PreTokenizer> pre_tokenizers();
// Errors: kUnsupported naming all that are known.
base::Result<const PreTokenizer*> find_pre_tokenizer(std::string_view name);
// The first row that says the same, or nullptr.
const PreTokenizer* recognise_pre_tokenizer(std::span<const std::string> expressions,
                                            bool whole_words, bool nfc);

}  // namespace puna::tokenizer
