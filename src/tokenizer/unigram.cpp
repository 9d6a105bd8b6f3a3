// Unigram ("t5" models: T5, XLM-RoBERTa): of all ways to write a text in pieces the one whose
// scores (log probabilities) add up to the most. Source: sentencepiece's unigram_model.cc; Kudo
// 2018.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/utf8.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/pieces.h"
#include "tokenizer/space_marks.h"
#include "tokenizer/tokenizers.h"
#include "tokenizer/white_space.h"
#include "tokenizer/word_cache.h"

namespace puna::tokenizer {

namespace {

constexpr double kUnknownPenalty = 10.0;  // below the worst piece, as in sentencepiece

class Unigram final : public Tokenizer {
 public:
  explicit Unigram(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<bool> init() {
    PUNA_TRY(normalizer_, Normalizer::compile(vocabulary_.normalizer));
    PUNA_TRY(init_pieces());
    added_.emplace(vocabulary_, [&](std::string_view text, std::deque<std::string>& kept) {
      return prepare(text, kept);
    });
    return true;
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    std::deque<std::string> kept;
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [&](std::string_view part, auto& strings) { return prepare(part, strings); },
        [&](std::string_view part, bool at_start) {
          if (vocabulary_.word_split == WordSplit::kWhiteSpace)
            return encode_split(part, at_start, kept, ids);
          const bool prefix = needs_prefix(vocabulary_.space_prefix, part, at_start);
          encode_plain(with_spaces(part, prefix, kept), ids);
        });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  // The best way to write the text up to here.
  struct Best {
    double score = 0;
    uint32_t from = 0;  // where its last piece begins
    int32_t id = kNone;
  };
  static constexpr int32_t kNone = -2;     // nothing ends here
  static constexpr int32_t kUnknown = -1;  // the last piece is an unknown character

  base::Result<bool> init_pieces();
  std::string_view prepare(std::string_view text, std::deque<std::string>& kept) const {
    text = normalizer_.apply(text, kept);
    // Marks in the text are no white space to cut at.
    if (vocabulary_.word_split == WordSplit::kWhiteSpace) return text;
    return with_spaces(text, vocabulary_.space_prefix == SpacePrefix::kAlways, kept);
  }
  // Cuts in front of spaces, where no piece goes across one.
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
    std::vector<Best> best;
    if (!cut_at_spaces_) return encode_word(text, best, ids);
    WordCache cache(text.size());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin + 1), text.size());
      cache.append(text.substr(begin, end - begin), ids,
                   [&](std::string_view word) { encode_word(word, best, ids); });
      begin = end;
    }
  }
  // Cuts at white space of every kind, which is lost; each word begins with a space.
  void encode_split(std::string_view text, bool at_start, std::deque<std::string>& kept,
                    std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<Best>& best, std::vector<int32_t>& ids) const;

  Normalizer normalizer_;
  Pieces pieces_;
  PieceTrie trie_;
  std::array<int32_t, 256> byte_ids_{};
  bool has_bytes_ = false;
  bool cut_at_spaces_ = true;
  double unknown_score_ = 0;
  std::optional<AddedTokens> added_;
};

base::Result<bool> Unigram::init_pieces() {
  const auto corrupt = [](std::string message) {
    return base::fail(base::ErrorCode::kCorrupt, std::move(message));
  };
  const size_t n = vocabulary_.tokens.size();
  if (vocabulary_.scores.size() != n)
    return corrupt(fmt::format("The unigram vocabulary has {} tokens but {} scores.", n,
                               vocabulary_.scores.size()));
  if (!vocabulary_.unk) return corrupt("The unigram vocabulary has no unknown token.");
  byte_ids_.fill(-1);
  double worst = 0;
  std::string bytes;
  std::vector<int32_t> plain;  // ids of the pieces that text is made of
  size_t n_bytes = 0;
  for (const std::string& token : vocabulary_.tokens) n_bytes += token.size();
  pieces_.reserve(n, n_bytes);
  for (int32_t id = 0; id < n_tokens(); ++id) {
    const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
    const double score = vocabulary_.scores[static_cast<size_t>(id)];
    if (!std::isfinite(score))
      return corrupt(fmt::format("The score of token {} (\"{}\") is no finite number.", id, token));
    const TokenType type = type_of(vocabulary_, id);
    if (const int byte = byte_of(token); type == TokenType::kByte && byte >= 0) {
      const char c = static_cast<char>(byte);
      pieces_.append({&c, 1});
      byte_ids_[static_cast<size_t>(byte)] = id;
      continue;
    }
    bytes.clear();
    append_with_spaces(bytes, token);
    pieces_.append(bytes);
    // User-defined ones are found before.
    if (type != TokenType::kNormal || token.empty()) continue;
    worst = std::min(worst, score);
    if (pieces_.index(id) != id) continue;  // of equal ones the first counts
    plain.push_back(id);
    cut_at_spaces_ &= bytes.find(' ', 1) == std::string::npos;
  }
  cut_at_spaces_ &= pieces_.find(" ") >= 0;
  cut_at_spaces_ |= vocabulary_.word_split != WordSplit::kNone;
  has_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
  unknown_score_ = worst - kUnknownPenalty;
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (const int32_t id : plain) entries.emplace_back(pieces_[id], id);
  trie_ = PieceTrie(std::move(entries));
  return true;
}

void Unigram::encode_split(std::string_view text, bool at_start, std::deque<std::string>& kept,
                           std::vector<int32_t>& ids) const {
  std::string& spaced = kept.emplace_back();
  for (;;) {
    const std::string_view rest = strip_left(text);
    at_start &= rest.size() == text.size();
    text = rest;
    if (text.empty()) break;
    size_t end = 0;
    while (end < text.size()) {
      const base::Utf8Unit unit = base::utf8_next(text, end);
      if (is_white_space(unit.code_point)) break;
      end += unit.bytes;
    }
    if (needs_prefix(vocabulary_.space_prefix, text, at_start)) spaced.push_back(' ');
    append_with_spaces(spaced, text.substr(0, end));
    text.remove_prefix(end);
    at_start = false;
  }
  encode_plain(spaced, ids);
}

void Unigram::encode_word(std::string_view word, std::vector<Best>& best,
                          std::vector<int32_t>& ids) const {
  best.assign(word.size() + 1, {});
  const auto offer = [&](size_t from, size_t end, double score, int32_t id) {
    Best& there = best[end];
    if (there.id == kNone || score > there.score) there = {score, static_cast<uint32_t>(from), id};
  };
  for (size_t at = 0; at < word.size();) {
    const size_t next = at + base::utf8_next(word, at).bytes;
    const double so_far = best[at].score;
    bool covered = false;
    trie_.walk(word, at, [&](size_t length, int32_t id) {
      offer(at, at + length, so_far + double{vocabulary_.scores[static_cast<size_t>(id)]}, id);
      covered |= at + length == next;
    });
    if (!covered) offer(at, next, so_far + unknown_score_, kUnknown);
    at = next;
  }
  const size_t first = ids.size();
  size_t end = word.size();
  bool after_unknown = false;  // a run of unknown characters is one unknown token
  while (end > 0) {
    const Best& last = best[end];
    if (last.id != kUnknown) {
      ids.push_back(last.id);
    } else if (has_bytes_) {
      for (size_t i = end; i-- > last.from;)
        ids.push_back(byte_ids_[static_cast<unsigned char>(word[i])]);
    } else if (!after_unknown) {
      ids.push_back(*vocabulary_.unk);
    }
    after_unknown = last.id == kUnknown;
    end = last.from;
  }
  std::reverse(ids.begin() + static_cast<ptrdiff_t>(first), ids.end());
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_unigram(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<Unigram>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
