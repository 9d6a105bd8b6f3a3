// Inside the room: the makers of each kind of tokenizer, called by Tokenizer::create once what all
// kinds share is checked.
#pragma once

#include <memory>

#include "base/result.h"
#include "tokenizer/markers.h"
#include "tokenizer/tokenizer.h"

namespace puna::tokenizer {

base::Result<std::unique_ptr<Tokenizer>> make_byte_level_bpe(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_sentencepiece_bpe(Vocabulary vocabulary);

inline TokenType type_of(const Vocabulary& vocabulary, int32_t id) {
  return vocabulary.types.empty() ? TokenType::kNormal : vocabulary.types[static_cast<size_t>(id)];
}
// Tokens that stand for no text and are shown only when asked for.
inline bool is_special(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown;
}

// The special tokens as they stand in raw text.
Markers special_markers(const Vocabulary& vocabulary);

// The frame of every encode(): BOS, text between special tokens, EOS. `plain` appends the ids of a
// text to `ids`.
template <class Plain>
void encode_framed(const Vocabulary& vocabulary, const Markers& specials, std::string_view text,
                   const EncodeOptions& options, std::vector<int32_t>& ids, Plain&& plain) {
  if (options.add_special && vocabulary.add_bos && vocabulary.bos) ids.push_back(*vocabulary.bos);
  if (options.parse_special) {
    cut_at_markers(specials, text, plain, [&](int32_t id) { ids.push_back(id); });
  } else if (!text.empty()) {
    plain(text);
  }
  if (options.add_special && vocabulary.add_eos && vocabulary.eos) ids.push_back(*vocabulary.eos);
}

}  // namespace puna::tokenizer
