// Unigram: the pieces whose scores add up to the most. Source: the library's models/unigram.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/pipeline/word_model.h"

namespace puna::tokenizer {

namespace {

constexpr double kUnknownPenalty = 10.0;

class UnigramModel final : public WordModel {
 public:
  explicit UnigramModel(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), tokens_(vocabulary), unknown_(vocabulary.unk.value_or(-1)) {
    double worst = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < vocabulary.pipeline->in_model.size(); ++id) {
      if (vocabulary.pipeline->in_model[id]) worst = std::min(worst, double{vocabulary.scores[id]});
    }
    unknown_score_ = worst - kUnknownPenalty;
    trie_ = PieceTrie({tokens_.all().begin(), tokens_.all().end()});
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    std::vector<Best> best(word.size() + 1);
    for (size_t at = 0; at < word.size();) {
      const size_t next = at + base::utf8_next(word, at).bytes;
      const double so_far = best[at].score;
      bool covered = false;
      const auto offer = [&](size_t end, double score, int32_t id) {
        if (best[end].id == kNone || so_far + score > best[end].score)
          best[end] = {so_far + score, at, id};
      };
      trie_.walk(word, at, [&](size_t length, int32_t id) {
        offer(at + length, double{vocabulary_.scores[static_cast<size_t>(id)]}, id);
        covered |= at + length == next;
      });
      if (!covered) offer(next, unknown_score_, unknown_);
      at = next;
    }
    append(word, best, ids);
  }

 private:
  struct Best {
    double score = 0;
    size_t from = 0;
    int32_t id = kNone;
  };
  static constexpr int32_t kNone = -2;

  // From the end: the pieces, and runs of unknown ones as one.
  void append(std::string_view word, const std::vector<Best>& best,
              std::vector<int32_t>& ids) const {
    std::vector<std::pair<size_t, size_t>> spans;  // from the last to the first
    bool after_unknown = false;
    for (size_t end = word.size(); end > 0; end = best[end].from) {
      const bool unknown = best[end].id == unknown_;
      if (unknown && after_unknown) {
        spans.back().first = best[end].from;
      } else {
        spans.emplace_back(best[end].from, end);
      }
      after_unknown = unknown;
    }
    for (auto it = spans.rbegin(); it != spans.rend(); ++it) {
      const std::string_view text = word.substr(it->first, it->second - it->first);
      if (const int32_t id = tokens_.find(text); id >= 0) {
        ids.push_back(id);
      } else if (!vocabulary_.pipeline->byte_fallback || !tokens_.append_bytes(text, ids)) {
        ids.push_back(unknown_);
      }
    }
  }

  const Vocabulary& vocabulary_;
  WordVocabulary tokens_;
  int32_t unknown_;
  double unknown_score_ = 0;
  PieceTrie trie_;
};

}  // namespace

base::Result<std::unique_ptr<WordModel>> make_unigram_model(const Vocabulary& vocabulary) {
  if (!vocabulary.unk)
    return base::fail(base::ErrorCode::kUnsupported,
                      "The Unigram model has no unk_id: a character that it lacks has no id.");
  return std::unique_ptr<WordModel>(std::make_unique<UnigramModel>(vocabulary));
}

}  // namespace puna::tokenizer
