// Inside pipeline/: the models of a tokenizer.json, each a function from one word to its tokens.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/pipeline/pipeline.h"

namespace puna::tokenizer {

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the ids of a word, which is not empty.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
};

// The tokens of the model by their texts, which lie in the vocabulary.
class WordVocabulary {
 public:
  explicit WordVocabulary(const Vocabulary& vocabulary);
  int32_t find(std::string_view token) const {
    const auto it = ids_.find(token);
    return it == ids_.end() ? -1 : it->second;
  }
  // Appends the byte tokens ("<0x41>") of a text; false, appending nothing, when one is missing.
  bool append_bytes(std::string_view text, std::vector<int32_t>& ids) const;
  const std::unordered_map<std::string_view, int32_t>& all() const { return ids_; }

 private:
  std::unordered_map<std::string_view, int32_t> ids_;
  int32_t bytes_[256];
};

// Errors: kCorrupt for merges or an unknown token that are not in the vocabulary. The vocabulary
// must outlive the model.
base::Result<std::unique_ptr<WordModel>> make_word_model(const Vocabulary& vocabulary);
base::Result<std::unique_ptr<WordModel>> make_bpe_model(const Vocabulary& vocabulary);
base::Result<std::unique_ptr<WordModel>> make_unigram_model(const Vocabulary& vocabulary);
base::Result<std::unique_ptr<WordModel>> make_word_piece_model(const Vocabulary& vocabulary);
base::Result<std::unique_ptr<WordModel>> make_word_level_model(const Vocabulary& vocabulary);

}  // namespace puna::tokenizer
