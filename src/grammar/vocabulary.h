// GrammarVocabulary: the tokens of a model as bytes, as grammars need them. Made once a model; does
// not change.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/token_trie.h"
#include "tokenizer/tokenizer.h"

namespace puna::grammar {

// Stands before the mark of a control token, such as <tool_call>, where a grammar is to write the
// token itself. It is a byte of no UTF-8, so no characters are taken for control tokens.
inline constexpr std::string_view kControl = "\xFF";

class GrammarVocabulary {
 public:
  using Encode = std::function<std::vector<int32_t>(std::string_view)>;

  // The text of a control token is kControl and its mark; end tokens have none and may follow a
  // text that fits as it is. The tokenizer has to stay.
  // Errors: kUnsupported where the text of a token depends on those around it.
  static base::Result<std::shared_ptr<const GrammarVocabulary>> create(
      const tokenizer::Tokenizer& tokenizer);

  // texts: by id; empty ones are of tokens that are never allowed. encode: how the model cuts a
  // text into tokens; null: what has to come next is never forced.
  GrammarVocabulary(const std::vector<std::string>& texts, std::vector<int32_t> end_tokens,
                    Encode encode);

  uint32_t n_tokens() const { return static_cast<uint32_t>(offsets_.size() - 1); }
  size_t n_words() const { return (size_t{n_tokens()} + 31) / 32; }  // of a mask
  std::string_view text(uint32_t id) const {
    return std::string_view(bytes_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  bool is_end(int32_t id) const;
  std::span<const int32_t> end_tokens() const { return end_tokens_; }
  const TokenTrie& trie() const { return trie_; }
  // The tokens of a text, as the model would write it; none where that is not known, or would not
  // be these bytes.
  std::vector<int32_t> encode(std::string_view text) const;
  // Whether a token begins with this text and is longer.
  bool longer_token(std::string_view text) const;
  size_t size_bytes() const {
    return bytes_.size() + offsets_.size() * sizeof(uint32_t) + trie_.size_bytes();
  }

 private:
  // The token with the longest text that `text` begins with; -1 where there is none.
  int32_t longest_token(std::string_view text) const;

  std::string bytes_;
  std::vector<uint32_t> offsets_;  // by id, and the end
  std::vector<int32_t> end_tokens_;
  TokenTrie trie_;
  Encode encode_;
};

}  // namespace puna::grammar
