// The table of pre-tokenizers: how a byte-level BPE model cuts text into words before it merges, by
// the name that GGUF gives it in tokenizer.ggml.pre.
#pragma once

#include <span>
#include <string_view>

namespace puna::tokenizer {

struct PreTokenizer {
  std::string_view name;
  std::span<const std::string_view>
      expressions;           // see split.h; each cuts the pieces of the one before
  bool whole_words = false;  // a word that is a token is taken whole, whatever the merges say
};

std::span<const PreTokenizer> pre_tokenizers();
// nullptr when the name is not in the table.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace puna::tokenizer
