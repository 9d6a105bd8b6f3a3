// BPE over characters, with a prefix or suffix for where in a word they stand, byte fallback and
// unknown tokens. Source: the library's models/bpe.
#include <fmt/format.h>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/pieces.h"
#include "tokenizer/pipeline/word_model.h"

namespace puna::tokenizer {

namespace {

class BpeModel final : public WordModel {
 public:
  explicit BpeModel(const Vocabulary& vocabulary)
      : pipeline_(*vocabulary.pipeline),
        unknown_(vocabulary.unk.value_or(-1)),
        tokens_(vocabulary),
        merges_(pipeline_.merges.size()) {}

  base::Result<void> init() {
    std::string joined;
    // From the last to the first: of a pair that is listed twice the last one counts.
    for (size_t rank = pipeline_.merges.size(); rank-- > 0;) {
      const auto& [left, right] = pipeline_.merges[rank];
      const auto wrong = [&](std::string_view what) {
        return base::fail(
            base::ErrorCode::kCorrupt,
            fmt::format("The merge {} (\"{}\", \"{}\") {}.", rank, left, right, what));
      };
      if (right.size() < pipeline_.inside_prefix.size())
        return wrong("has a right piece that is shorter than the prefix of pieces inside a word");
      joined.assign(left).append(right, pipeline_.inside_prefix.size());
      const int32_t ids[] = {tokens_.find(left), tokens_.find(right), tokens_.find(joined)};
      if (ids[0] < 0 || ids[1] < 0) return wrong("names a piece that is not in the vocabulary");
      if (ids[2] < 0) return wrong("makes a piece that is not in the vocabulary");
      merges_.insert(ids[0], ids[1], {static_cast<uint32_t>(rank), ids[2]});
    }
    return {};
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (pipeline_.whole_words) {
      if (const int32_t id = tokens_.find(word); id >= 0) return ids.push_back(id);
    }
    PUNA_CHECK(word.size() < Candidate::kNever);
    std::vector<Symbol> symbols;
    split(word, symbols);
    Merger(symbols, [&](const Symbol& left, const Symbol& right) {
      return merges_.candidate(left.id, right.id);
    }).run();
    for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
  }

 private:
  // The characters of the word as tokens; those without one are lost where there is no unknown
  // token.
  void split(std::string_view word, std::vector<Symbol>& symbols) const {
    std::string piece;
    std::vector<int32_t> bytes;
    uint32_t place = 0;  // as the symbols' bytes: only their order counts
    int n_unknown = 0;
    const auto add = [&](int32_t id) {
      symbols.push_back({place, place + 1, id});
      ++place;
    };
    const auto flush = [&] {
      for (; n_unknown > 0; --n_unknown) add(unknown_);
    };
    for (size_t at = 0; at < word.size();) {
      const size_t end = at + base::utf8_next(word, at).bytes;
      piece.assign(at == 0 ? "" : pipeline_.inside_prefix).append(word, at, end - at);
      if (end == word.size()) piece.append(pipeline_.end_suffix);
      at = end;
      if (const int32_t id = tokens_.find(piece); id >= 0) {
        flush();
        add(id);
        continue;
      }
      bytes.clear();
      if (pipeline_.byte_fallback && tokens_.append_bytes(piece, bytes)) {
        // The library writes the unknown token before it behind these bytes; so does this.
        for (const int32_t id : bytes) add(id);
      } else if (unknown_ >= 0) {
        if (!pipeline_.fuse_unknown) flush();
        n_unknown = 1;
      }
    }
    flush();
  }

  const Pipeline& pipeline_;
  int32_t unknown_;
  WordVocabulary tokens_;
  MergeTable merges_;
};

}  // namespace

base::Result<std::unique_ptr<WordModel>> make_bpe_model(const Vocabulary& vocabulary) {
  auto model = std::make_unique<BpeModel>(vocabulary);
  PUNA_TRY(model->init());
  return std::unique_ptr<WordModel>(std::move(model));
}

}  // namespace puna::tokenizer
