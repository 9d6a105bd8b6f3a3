// SentencePiece BPE ("llama" models: Llama 2, Gemma): no pre-tokenizer; a merge may make any piece
// of the vocabulary, the one with the best score first; characters without a piece become byte
// tokens. Source: sentencepiece's bpe_model.cc.
//
// Pieces write a space as U+2581. Here they are kept with a plain space, and U+2581 in the text is
// read as one (as sentencepiece does), so text without it is used in place.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <bitset>
#include <cmath>
#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/pieces.h"
#include "tokenizer/tokenizers.h"
#include "tokenizer/word_cache.h"

namespace puna::tokenizer {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

void append_with_spaces(std::string& out, std::string_view text) {
  for (size_t at = 0;;) {
    const size_t mark = text.find(kSpaceMark, at);
    out.append(text.substr(at, mark - at));
    if (mark == std::string_view::npos) return;
    out.push_back(' ');
    at = mark + kSpaceMark.size();
  }
}

// Scores as integers in the opposite order: the best score has the lowest priority. Scores are
// finite.
uint32_t priority_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // + 0 makes -0 and 0 the same
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

// The byte of "<0x41>", or -1.
int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

class SentencePieceBpe final : public Tokenizer {
 public:
  explicit SentencePieceBpe(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<bool> init();

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    encode_framed(vocabulary_, specials_, text, options, ids, [&](std::string_view part) {
      if (!vocabulary_.add_space_prefix && part.find(kSpaceMark) == std::string_view::npos)
        return encode_plain(part, ids);
      std::string spaced(vocabulary_.add_space_prefix ? 1 : 0, ' ');
      append_with_spaces(spaced, part);
      encode_plain(spaced, ids);
    });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<Symbol>& symbols,
                   std::vector<int32_t>& ids) const;
  void append_symbol(std::string_view word, const Symbol& symbol,
                     const std::unordered_map<int32_t, uint32_t>& splits,
                     std::vector<int32_t>& ids) const;

  static size_t pair_of(char left, char right) {
    return size_t{static_cast<unsigned char>(left)} * 256 + static_cast<unsigned char>(right);
  }

  Pieces pieces_;
  std::vector<uint32_t> priorities_;  // by id
  size_t longest_ = 0;                // bytes of the longest piece that text is made of
  std::array<int32_t, 256> byte_ids_{};
  bool has_bytes_ = false;
  bool has_unused_ = false;
  std::bitset<65536> joined_;  // pairs of bytes that stand next to each other in some piece
  Markers specials_, user_defined_;
};

base::Result<bool> SentencePieceBpe::init() {
  const size_t n = vocabulary_.tokens.size();
  if (vocabulary_.scores.size() != n) {
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
    const float score = vocabulary_.scores[static_cast<size_t>(id)];
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
    if (is_special(type)) {
      pieces_.append(token);
      continue;
    }
    bytes.clear();
    append_with_spaces(bytes, token);
    pieces_.append(bytes);
    if (type == TokenType::kUserDefined) user_defined_.add(bytes, id);
    if (type == TokenType::kUnused) has_unused_ = true;
    if (const int32_t other = pieces_.index(id); other != id) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("The tokens {} and {} are both \"{}\".", other, id, token));
    }
    longest_ = std::max(longest_, bytes.size());
    for (size_t i = 0; i + 1 < bytes.size(); ++i) joined_.set(pair_of(bytes[i], bytes[i + 1]));
  }
  specials_ = special_markers(vocabulary_);
  if (has_bytes_) {
    for (size_t byte = 0; byte < 256; ++byte) {
      if (byte_ids_[byte] < 0)
        return base::fail(base::ErrorCode::kCorrupt,
                          fmt::format("The byte token <0x{:02X}> is missing.", byte));
    }
  } else if (!vocabulary_.unk) {
    return base::fail(base::ErrorCode::kCorrupt,
                      "The SentencePiece vocabulary has neither byte tokens nor an unknown token.");
  }
  return true;
}

// Cuts at user-defined pieces, and between words: where no piece has the two bytes next to each
// other, no merge can cross.
void SentencePieceBpe::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  WordCache cache(text.size());
  std::vector<Symbol> symbols;
  // With unused pieces or without byte tokens the result for a word depends on what stands around
  // it.
  const bool by_words = has_bytes_ && !has_unused_;
  const auto encode_one = [&](std::string_view word) { encode_word(word, symbols, ids); };
  cut_at_markers(
      user_defined_, text,
      [&](std::string_view part) {
        if (!by_words) return encode_one(part);
        size_t begin = 0;
        for (size_t at = 0; at < part.size();) {
          at += base::utf8_next(part, at).bytes;
          if (at < part.size() && joined_.test(pair_of(part[at - 1], part[at]))) continue;
          cache.append(part.substr(begin, at - begin), ids, encode_one);
          begin = at;
        }
      },
      [&](int32_t id) { ids.push_back(id); });
}

void SentencePieceBpe::encode_word(std::string_view word, std::vector<Symbol>& symbols,
                                   std::vector<int32_t>& ids) const {
  PUNA_CHECK(word.size() < Candidate::kNever);
  symbols.clear();
  for (uint32_t at = 0; at < word.size();) {
    const uint32_t end = at + base::utf8_next(word, at).bytes;
    symbols.push_back({at, end, -1});
    at = end;
  }
  std::unordered_map<int32_t, uint32_t>
      splits;  // unused piece: bytes of the left part that it was last made of
  Merger(symbols, [&](const Symbol& left, const Symbol& right) {
    if (right.end - left.begin > longest_) return Candidate{};
    const int32_t id = pieces_.find(word.substr(left.begin, right.end - left.begin));
    if (id < 0) return Candidate{};
    if (has_unused_ && type_of(vocabulary_, id) == TokenType::kUnused)
      splits[id] = left.end - left.begin;
    return Candidate{priorities_[static_cast<size_t>(id)], id};
  }).run();
  bool after_unknown = false;
  for (Symbol& symbol : symbols) {
    if (symbol.id < 0)
      symbol.id = pieces_.find(word.substr(symbol.begin, symbol.end - symbol.begin));
    if (symbol.id < 0 && !has_bytes_) {  // a run of unknown characters is one unknown token
      if (!after_unknown) ids.push_back(*vocabulary_.unk);
      after_unknown = true;
      continue;
    }
    after_unknown = false;
    append_symbol(word, symbol, splits, ids);
  }
}

// A piece marked unused is taken apart again into what it was merged from.
void SentencePieceBpe::append_symbol(std::string_view word, const Symbol& symbol,
                                     const std::unordered_map<int32_t, uint32_t>& splits,
                                     std::vector<int32_t>& ids) const {
  if (symbol.id < 0) {
    for (uint32_t i = symbol.begin; i < symbol.end; ++i)
      ids.push_back(byte_ids_[static_cast<unsigned char>(word[i])]);
    return;
  }
  const auto split = splits.find(symbol.id);
  if (split == splits.end()) return ids.push_back(symbol.id);
  const uint32_t middle = symbol.begin + split->second;
  for (const auto& [begin, end] :
       {std::pair{symbol.begin, middle}, std::pair{middle, symbol.end}}) {
    append_symbol(word, {begin, end, pieces_.find(word.substr(begin, end - begin))}, splits, ids);
  }
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_sentencepiece_bpe(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<SentencePieceBpe>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
