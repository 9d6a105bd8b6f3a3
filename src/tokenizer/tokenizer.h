// Text to token ids and back, as the model's own tokenizer gives them. Tokenizers do not change
// once made, so threads may share one. Read next: byte_level_bpe.cpp, sentencepiece_bpe.cpp,
// unigram.cpp, word_piece.cpp, rwkv.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/vocabulary.h"

namespace puna::tokenizer {

struct EncodeOptions {
  bool add_special = true;  // BOS and EOS as the vocabulary says
  bool parse_special =
      true;  // "<|im_start|>" in the text becomes its control token; false reads markers as plain
             // text (user-defined pieces are part of the text model and are found either way)
};

class Tokenizer {
 public:
  // Errors: kUnsupported for a model or pre-tokenizer that is not known (named), kCorrupt for
  // inconsistent tables.
  static base::Result<std::unique_ptr<Tokenizer>> create(Vocabulary vocabulary);
  virtual ~Tokenizer() = default;

  // Never fails: invalid UTF-8 goes through byte by byte, so that detokenizing gives the same bytes
  // back. Only bytes that the vocabulary has no piece for are lost, as in Hugging Face's library
  // (SmolLM2: 21 bytes, see README.md).
  virtual std::vector<int32_t> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const = 0;
  // The bytes of one token. Control tokens give "" unless `special`. Ids outside the vocabulary
  // give "".
  virtual std::string bytes(int32_t id, bool special = false) const = 0;
  // The bytes of a sequence, exactly (SentencePiece: without the space that encode put in front).
  virtual std::string decode(const std::vector<int32_t>& ids, bool special = false) const;
  // Whether the text of a token depends on the tokens around it, so that it is not bytes() of each.
  virtual bool decodes_in_context() const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  int32_t n_tokens() const { return static_cast<int32_t>(vocabulary_.tokens.size()); }
  bool is_end(int32_t id) const;  // one of vocabulary().end_tokens
  // Whether encode puts a space in front of the text, which decode takes away again.
  bool adds_space() const {
    return vocabulary_.model != "gpt2" && vocabulary_.model != "pipeline" &&
           vocabulary_.space_prefix != SpacePrefix::kNever;
  }

 protected:
  explicit Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  Vocabulary vocabulary_;
};

// Streams token ids to text without ever cutting a UTF-8 character: push() returns what is complete
// so far.
class StreamDecoder {
 public:
  // `continues`: the ids go on after text that is shown already, so a leading space is text and
  // stays.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool special = false, bool continues = false)
      : tokenizer_(tokenizer), special_(special), first_(!continues) {}
  std::string push(int32_t id);
  // What is left when the stream ends; incomplete bytes are given as they are.
  std::string finish();

 private:
  void decode_window(int32_t id);

  const Tokenizer& tokenizer_;
  bool special_;
  bool first_;
  std::string pending_;
  // Where a token's text depends on others: the ids that are decoded again, and how many bytes of
  // their text are shown or pending.
  std::vector<int32_t> window_;
  size_t window_bytes_ = 0;
};

}  // namespace puna::tokenizer
