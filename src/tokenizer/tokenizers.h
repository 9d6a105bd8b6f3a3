// Inside the room: the makers of each kind of tokenizer, called by Tokenizer::create once what all
// kinds share is checked, and the frame of every encode().
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace puna::tokenizer {

base::Result<std::unique_ptr<Tokenizer>> make_byte_level_bpe(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_sentencepiece_bpe(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_unigram(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_word_piece(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_rwkv(Vocabulary vocabulary);
base::Result<std::unique_ptr<Tokenizer>> make_pipeline(Vocabulary vocabulary);

inline TokenType type_of(const Vocabulary& vocabulary, int32_t id) {
  return AddedTokens::type_of(vocabulary, id);
}
inline bool is_special(TokenType type) { return AddedTokens::is_special(type); }

// BOS, text between added tokens, EOS. normalize(text, kept) gives the text to be cut into words,
// which lies in `text` or in `kept`; plain(text, at_start) appends the ids of what is left to
// `ids`.
template <class Normalize, class Plain>
void encode_framed(const Vocabulary& vocabulary, const AddedTokens& added, std::string_view text,
                   const EncodeOptions& options, std::deque<std::string>& kept,
                   std::vector<int32_t>& ids, Normalize&& normalize, Plain&& plain) {
  if (options.add_special) {
    if (vocabulary.add_bos && vocabulary.bos) ids.push_back(*vocabulary.bos);
    ids.insert(ids.end(), vocabulary.before.begin(), vocabulary.before.end());
  }
  const auto token = [&](int32_t id) { ids.push_back(id); };
  added.cut_raw(
      text, options.parse_special,
      [&](std::string_view part, size_t begin) {
        added.cut_normalized(
            normalize(part, kept), options.parse_special,
            [&](std::string_view rest, size_t rest_begin) {
              plain(rest, begin == 0 && rest_begin == 0);
            },
            token);
      },
      token);
  if (!options.add_special) return;
  ids.insert(ids.end(), vocabulary.after.begin(), vocabulary.after.end());
  if (vocabulary.add_eos && vocabulary.eos) ids.push_back(*vocabulary.eos);
}

}  // namespace puna::tokenizer
