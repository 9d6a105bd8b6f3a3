// SentencePiece BPE ("llama" and "gemma4" models: Llama 2, Gemma): no pre-tokenizer; characters
// without a piece become byte tokens. By scores a merge may make any piece of the vocabulary, the
// one with the best score first (source: sentencepiece's bpe_model.cc); where the vocabulary lists
// merges, as tokenizer.json does, these alone count, in their order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cmath>
#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pieces.h"
#include "tokenizer/space_marks.h"
#include "tokenizer/tokenizers.h"
#include "tokenizer/word_cache.h"

namespace puna::tokenizer {

namespace {

// Scores as integers in the opposite order: the best score has the lowest priority. Scores are
// finite.
uint32_t priority_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // + 0 makes -0 and 0 the same
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

class SentencePieceBpe final : public Tokenizer {
 public:
  explicit SentencePieceBpe(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<bool> init();

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    std::deque<std::string> kept;
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [&](std::string_view part, auto& strings) { return prepare(part, strings); },
        [&](std::string_view part, bool at_start) {
          const bool prefix = needs_prefix(vocabulary_.space_prefix, part, at_start);
          encode_words(with_spaces(part, prefix, kept), ids);
        });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  base::Result<bool> init_pieces();
  base::Result<bool> init_merges();
  std::string_view prepare(std::string_view text, std::deque<std::string>& kept) const {
    return with_spaces(normalizer_.apply(text, kept),
                       vocabulary_.space_prefix == SpacePrefix::kAlways, kept);
  }
  void encode_words(std::string_view text, std::vector<int32_t>& ids) const {
    if (vocabulary_.word_split == WordSplit::kNone) return encode_plain(text, ids);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin + 1), text.size());
      encode_plain(text.substr(begin, end - begin), ids);
      begin = end;
    }
  }
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<Symbol>& symbols,
                   std::vector<int32_t>& ids) const;
  Candidate by_score(std::string_view word, const Symbol& left, const Symbol& right,
                     std::unordered_map<int32_t, uint32_t>& splits) const;
  void append_symbol(std::string_view word, const Symbol& symbol,
                     const std::unordered_map<int32_t, uint32_t>& splits, bool& after_unknown,
                     std::vector<int32_t>& ids) const;

  static size_t pair_of(char left, char right) {
    return size_t{static_cast<unsigned char>(left)} * 256 + static_cast<unsigned char>(right);
  }

  Pieces pieces_;
  std::vector<uint32_t> priorities_;  // by id, unless there are merges
  bool by_merges_ = false;
  MergeTable merges_;
  Normalizer normalizer_;
  size_t longest_ = 0;  // bytes of the longest piece that text is made of
  std::array<int32_t, 256> byte_ids_{};
  bool has_bytes_ = false;
  bool has_unused_ = false;
  std::bitset<65536> joined_;  // pairs of bytes that stand next to each other in some piece
  std::optional<AddedTokens> added_;
};

base::Result<bool> SentencePieceBpe::init() {
  by_merges_ = !vocabulary_.merges.empty();
  PUNA_TRY(normalizer_, Normalizer::compile(vocabulary_.normalizer));
  PUNA_TRY(init_pieces());
  added_.emplace(vocabulary_, [&](std::string_view text, std::deque<std::string>& kept) {
    return prepare(text, kept);
  });
  if (by_merges_) {
    PUNA_TRY(init_merges());
  }
  if (!has_bytes_ && !vocabulary_.unk) {
    return base::fail(base::ErrorCode::kCorrupt,
                      "The SentencePiece vocabulary has neither byte tokens nor an unknown token.");
  }
  return true;
}

base::Result<bool> SentencePieceBpe::init_pieces() {
  const size_t n = vocabulary_.tokens.size();
  if (!by_merges_ && vocabulary_.scores.size() != n) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The SentencePiece vocabulary has {} tokens but {} scores.", n,
                                  vocabulary_.scores.size()));
  }
  size_t n_bytes = 0;
  for (const std::string& token : vocabulary_.tokens) n_bytes += token.size();
  pieces_.reserve(n, n_bytes);
  priorities_.resize(n);
  byte_ids_.fill(-1);
  const bool by_name = vocabulary_.types.empty();
  std::string bytes;
  for (int32_t id = 0; id < n_tokens(); ++id) {
    const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
    const float score = by_merges_ ? 0.0f : vocabulary_.scores[static_cast<size_t>(id)];
    if (!std::isfinite(score)) {
      return base::fail(
          base::ErrorCode::kCorrupt,
          fmt::format("The score of token {} (\"{}\") is no finite number.", id, token));
    }
    priorities_[static_cast<size_t>(id)] = priority_of(score);
    const TokenType type = type_of(vocabulary_, id);
    const int byte = byte_of(token);
    if (type == TokenType::kByte || (by_name && byte >= 0)) {
      if (byte < 0)
        return base::fail(
            base::ErrorCode::kCorrupt,
            fmt::format("The byte token {} is called \"{}\", not <0x00> to <0xFF>.", id, token));
      const char c = static_cast<char>(byte);
      pieces_.append({&c, 1});
      int32_t& known = byte_ids_[static_cast<size_t>(byte)];
      if (known >= 0)
        return base::fail(
            base::ErrorCode::kCorrupt,
            fmt::format("The tokens {} and {} are both the byte {}.", known, id, token));
      known = id;
      has_bytes_ = true;
      continue;
    }
    if (is_special(type) || token.empty()) {
      pieces_.append(token);
      continue;
    }
    bytes.clear();
    append_with_spaces(bytes, token);
    pieces_.append(bytes);
    if (type == TokenType::kUnused) has_unused_ = true;
    pieces_.index(id);  // of equal ones the first counts
    longest_ = std::max(longest_, bytes.size());
    for (size_t i = 0; i + 1 < bytes.size(); ++i) joined_.set(pair_of(bytes[i], bytes[i + 1]));
  }
  for (size_t byte = 0; has_bytes_ && byte < 256; ++byte) {
    if (byte_ids_[byte] < 0)
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("The byte token <0x{:02X}> is missing.", byte));
  }
  return true;
}

base::Result<bool> SentencePieceBpe::init_merges() {
  std::string bytes;
  const auto id_of = [&](std::string_view stored) {
    bytes.clear();
    append_with_spaces(bytes, stored);
    return pieces_.find(bytes);
  };
  PUNA_TRY(merges_, read_merges(vocabulary_.merges, pieces_, id_of));
  std::vector<std::string>().swap(vocabulary_.merges);
  return true;
}

// Cuts between words: where no piece has the two bytes next to each other, no merge can cross.
void SentencePieceBpe::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  std::vector<Symbol> symbols;
  // With unused pieces or without byte tokens the result for a word depends on what stands around
  // it.
  if (!has_bytes_ || has_unused_) return encode_word(text, symbols, ids);
  WordCache cache(text.size());
  const auto encode_one = [&](std::string_view word) { encode_word(word, symbols, ids); };
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    at += base::utf8_next(text, at).bytes;
    if (at < text.size() && joined_.test(pair_of(text[at - 1], text[at]))) continue;
    cache.append(text.substr(begin, at - begin), ids, encode_one);
    begin = at;
  }
}

Candidate SentencePieceBpe::by_score(std::string_view word, const Symbol& left, const Symbol& right,
                                     std::unordered_map<int32_t, uint32_t>& splits) const {
  if (right.end - left.begin > longest_) return Candidate{};
  const int32_t id = pieces_.find(word.substr(left.begin, right.end - left.begin));
  if (id < 0) return Candidate{};
  if (has_unused_ && type_of(vocabulary_, id) == TokenType::kUnused)
    splits[id] = left.end - left.begin;
  return Candidate{priorities_[static_cast<size_t>(id)], id};
}

void SentencePieceBpe::encode_word(std::string_view word, std::vector<Symbol>& symbols,
                                   std::vector<int32_t>& ids) const {
  PUNA_CHECK(word.size() < Candidate::kNever);
  symbols.clear();
  for (uint32_t at = 0; at < word.size();) {
    const uint32_t end = at + base::utf8_next(word, at).bytes;
    symbols.push_back({at, end, by_merges_ ? pieces_.find(word.substr(at, end - at)) : -1});
    at = end;
  }
  std::unordered_map<int32_t, uint32_t>
      splits;  // unused piece: bytes of the left part that it was last made of
  if (by_merges_) {
    Merger(symbols, [&](const Symbol& left, const Symbol& right) {
      return merges_.candidate(left.id, right.id);
    }).run();
  } else {
    Merger(symbols, [&](const Symbol& left, const Symbol& right) {
      return by_score(word, left, right, splits);
    }).run();
  }
  bool after_unknown = false;
  for (Symbol& symbol : symbols) {
    if (symbol.id < 0)
      symbol.id = pieces_.find(word.substr(symbol.begin, symbol.end - symbol.begin));
    append_symbol(word, symbol, splits, after_unknown, ids);
  }
}

// A piece marked unused is taken apart again into what it was merged from. Without byte tokens a
// run of unknown characters, of such a piece or around it, is one unknown token.
void SentencePieceBpe::append_symbol(std::string_view word, const Symbol& symbol,
                                     const std::unordered_map<int32_t, uint32_t>& splits,
                                     bool& after_unknown, std::vector<int32_t>& ids) const {
  if (symbol.id < 0 && !has_bytes_) {
    if (!after_unknown) ids.push_back(*vocabulary_.unk);
    after_unknown = true;
    return;
  }
  if (symbol.id < 0) {
    for (uint32_t i = symbol.begin; i < symbol.end; ++i)
      ids.push_back(byte_ids_[static_cast<unsigned char>(word[i])]);
    return;
  }
  const auto split = splits.find(symbol.id);
  if (split == splits.end()) {
    after_unknown = false;
    return ids.push_back(symbol.id);
  }
  const uint32_t middle = symbol.begin + split->second;
  for (const auto& [begin, end] :
       {std::pair{symbol.begin, middle}, std::pair{middle, symbol.end}}) {
    append_symbol(word, {begin, end, pieces_.find(word.substr(begin, end - begin))}, splits,
                  after_unknown, ids);
  }
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_sentencepiece_bpe(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<SentencePieceBpe>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
