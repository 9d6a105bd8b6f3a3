// WordPiece: the longest pieces from left to right. Source: the library's models/wordpiece.
#include "base/utf8.h"
#include "tokenizer/pipeline/word_model.h"

namespace puna::tokenizer {

namespace {

class WordPieceModel final : public WordModel {
 public:
  explicit WordPieceModel(const Vocabulary& vocabulary)
      : pipeline_(*vocabulary.pipeline), tokens_(vocabulary), unknown_(*vocabulary.unk) {
    for (const auto& [token, id] : tokens_.all()) longest_ = std::max(longest_, token.size());
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    size_t n_characters = 0;
    for (size_t at = 0; at < word.size(); at += base::utf8_next(word, at).bytes) ++n_characters;
    const size_t first = ids.size();
    bool known = n_characters <= pipeline_.most_characters;
    std::string piece;
    for (size_t at = 0; known && at < word.size();) {
      const std::string_view prefix = at == 0 ? std::string_view() : pipeline_.inside_prefix;
      known = false;
      for (size_t end = std::min(word.size(), at + longest_); end > at; --end) {
        piece.assign(prefix).append(word.substr(at, end - at));
        const int32_t id = tokens_.find(piece);
        if (id < 0) continue;
        ids.push_back(id);
        at = end;
        known = true;
        break;
      }
    }
    if (known) return;
    ids.resize(first);
    ids.push_back(unknown_);
  }

 private:
  const Pipeline& pipeline_;
  WordVocabulary tokens_;
  int32_t unknown_;
  size_t longest_ = 0;
};

class WordLevelModel final : public WordModel {
 public:
  explicit WordLevelModel(const Vocabulary& vocabulary)
      : tokens_(vocabulary), unknown_(*vocabulary.unk) {}
  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const int32_t id = tokens_.find(word);
    ids.push_back(id < 0 ? unknown_ : id);
  }

 private:
  WordVocabulary tokens_;
  int32_t unknown_;
};

template <class Model>
base::Result<std::unique_ptr<WordModel>> make(const Vocabulary& vocabulary) {
  if (!vocabulary.unk)
    return base::fail(
        base::ErrorCode::kCorrupt,
        "The vocabulary lacks the unk_token of its WordPiece or WordLevel model, which "
        "a word that it does not know becomes.");
  return std::unique_ptr<WordModel>(std::make_unique<Model>(vocabulary));
}

}  // namespace

base::Result<std::unique_ptr<WordModel>> make_word_piece_model(const Vocabulary& vocabulary) {
  return make<WordPieceModel>(vocabulary);
}
// A word is a token, or unknown.
base::Result<std::unique_ptr<WordModel>> make_word_level_model(const Vocabulary& vocabulary) {
  return make<WordLevelModel>(vocabulary);
}

}  // namespace puna::tokenizer
