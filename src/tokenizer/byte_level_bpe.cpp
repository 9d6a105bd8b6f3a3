// Byte-level BPE ("gpt2" models): text is cut into words by the pre-tokenizer, each word starts as
// its bytes, and merges join neighbours in rank order. Pieces are stored with every byte written as
// a printable character (GPT-2's byte map).
#include <fmt/format.h>

#include <array>

#include "tokenizer/byte_map.h"
#include "tokenizer/merge.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pieces.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/split.h"
#include "tokenizer/tokenizers.h"
#include "tokenizer/word_cache.h"

namespace puna::tokenizer {

namespace {

class ByteLevelBpe final : public Tokenizer {
 public:
  explicit ByteLevelBpe(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<bool> init() {
    PUNA_TRY(init_rule());
    PUNA_TRY(init_pieces());
    PUNA_TRY(init_merges());
    return true;
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    WordCache cache(text.size());
    std::vector<Symbol> symbols;
    std::deque<std::string> kept;
    const auto encode_one = [&](std::string_view word) { encode_word(word, symbols, ids); };
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [&](std::string_view part, auto& strings) { return normalizer_.apply(part, strings); },
        [&](std::string_view part, bool) {
          if (vocabulary_.space_prefix == SpacePrefix::kUnlessSpace && !part.starts_with(' '))
            part = kept.emplace_back(" ").append(part);
          for_each_word(expressions_, part,
                        [&](std::string_view word) { cache.append(word, ids, encode_one); });
        });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  base::Result<bool> init_rule() {
    std::vector<std::string_view> expressions;
    std::vector<NormalizerStep> steps = vocabulary_.normalizer;
    if (vocabulary_.pre == kCustomPre) {
      expressions.assign(vocabulary_.splits.begin(), vocabulary_.splits.end());
      whole_words_ = vocabulary_.whole_words;
    } else {
      PUNA_TRY(const PreTokenizer* rule, find_pre_tokenizer(vocabulary_.pre));
      expressions.assign(rule->expressions.begin(), rule->expressions.end());
      whole_words_ = rule->whole_words;
      if (rule->nfc) steps.push_back({NormalizerStep::Kind::kNfc});
    }
    if (expressions.size() > kMostExpressions) {
      return base::fail(base::ErrorCode::kUnsupported,
                        fmt::format("The tokenizer has {} split expressions, more than {}.",
                                    expressions.size(), kMostExpressions));
    }
    for (const std::string_view expression : expressions) {
      PUNA_TRY(auto compiled, SplitExpression::compile(expression));
      expressions_.push_back(std::move(compiled));
    }
    PUNA_TRY(normalizer_, Normalizer::compile(steps));
    added_.emplace(vocabulary_, [&](std::string_view text, std::deque<std::string>& kept) {
      return normalizer_.apply(text, kept);
    });
    return true;
  }

  base::Result<bool> init_pieces() {
    size_t n_bytes = 0;
    for (const std::string& token : vocabulary_.tokens) n_bytes += token.size();
    pieces_.reserve(vocabulary_.tokens.size(), n_bytes);
    std::string bytes;
    for (int32_t id = 0; id < n_tokens(); ++id) {
      const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
      const TokenType type = type_of(vocabulary_, id);
      const bool mapped = type == TokenType::kNormal && !token.empty() && map_.decode(token, bytes);
      pieces_.append(mapped ? bytes : token);
      if (!mapped) continue;  // no text is made of it, but ids of it can be shown
      pieces_.index(id);      // of equal ones the first counts
    }
    int n_bytes_known = 0;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      byte_ids_[byte] = pieces_.find({&c, 1});
      n_bytes_known += byte_ids_[byte] >= 0;
    }
    if (n_bytes_known == 0) {
      return base::fail(base::ErrorCode::kCorrupt,
                        "The byte-level vocabulary has no token for any single byte.");
    }
    return true;
  }

  base::Result<bool> init_merges() {
    std::string bytes;
    const auto id_of = [&](std::string_view stored) {
      return map_.decode(stored, bytes) ? pieces_.find(bytes) : -1;
    };
    PUNA_TRY(merges_, read_merges(vocabulary_.merges, pieces_, id_of));
    std::vector<std::string>().swap(vocabulary_.merges);
    for (int left = 0; left < 256; ++left) {
      for (int right = 0; right < 256; ++right) {
        const char bytes[] = {static_cast<char>(left), static_cast<char>(right)};
        byte_pairs_[pair_of(bytes)] = merges_.candidate(byte_ids_[left], byte_ids_[right]);
      }
    }
    return true;
  }

  static size_t pair_of(const char* bytes) {
    return static_cast<unsigned char>(bytes[0]) * size_t{256} +
           static_cast<unsigned char>(bytes[1]);
  }

  void encode_word(std::string_view word, std::vector<Symbol>& symbols,
                   std::vector<int32_t>& ids) const {
    if (whole_words_) {
      if (const int32_t id = pieces_.find(word); id >= 0) return ids.push_back(id);
    }
    PUNA_CHECK(word.size() < Candidate::kNever);
    symbols.clear();
    for (uint32_t i = 0; i < word.size(); ++i) {
      // A byte without a token vanishes before its neighbours are compared: Hugging Face's BPE does
      // so.
      const int32_t id = byte_ids_[static_cast<unsigned char>(word[i])];
      if (id >= 0) symbols.push_back({i, i + 1, id});
    }
    Merger(symbols, [&](const Symbol& left, const Symbol& right) {
      if (right.end - left.begin == 2) return byte_pairs_[pair_of(&word[left.begin])];
      return merges_.candidate(left.id, right.id);
    }).run();
    for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
  }

  ByteMap map_;
  std::vector<SplitExpression> expressions_;
  bool whole_words_ = false;
  Pieces pieces_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_{};
  // What two neighbouring bytes become: where every word begins, so without a search.
  std::vector<Candidate> byte_pairs_ = std::vector<Candidate>(size_t{256} * 256);
  Normalizer normalizer_;
  std::optional<AddedTokens> added_;
};

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_byte_level_bpe(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<ByteLevelBpe>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
