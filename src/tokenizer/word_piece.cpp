// WordPiece ("bert" models): text is cut at white space and around punctuation, and each word into
// the longest pieces from left to right. A piece that begins a word is stored with U+2581 in front,
// as GGUF does; one that goes on is stored bare. Source: google-research/bert, tokenization.py.
#include <fmt/format.h>

#include "base/utf8.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/pieces.h"
#include "tokenizer/space_marks.h"
#include "tokenizer/tokenizers.h"
#include "tokenizer/white_space.h"
#include "tokenizer/word_cache.h"

namespace puna::tokenizer {

namespace {

constexpr size_t kMostCharacters = 100;  // a longer word is unknown

class WordPiece final : public Tokenizer {
 public:
  explicit WordPiece(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

  base::Result<bool> init() {
    if (!vocabulary_.unk) {
      return base::fail(base::ErrorCode::kCorrupt,
                        "The WordPiece vocabulary has no unknown token.");
    }
    PUNA_TRY(normalizer_, Normalizer::compile(vocabulary_.normalizer));
    added_.emplace(vocabulary_, [&](std::string_view text, std::deque<std::string>& kept) {
      return normalizer_.apply(text, kept);
    });
    return init_pieces();
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    std::deque<std::string> kept;
    WordCache cache(text.size());
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [&](std::string_view part, auto& strings) { return normalizer_.apply(part, strings); },
        [&](std::string_view part, bool) {
          for_each_word(part, [&](std::string_view word) {
            cache.append(word, ids, [&](std::string_view w) { encode_word(w, ids); });
          });
        });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  base::Result<bool> init_pieces() {
    size_t n_bytes = 0;
    for (const std::string& token : vocabulary_.tokens) n_bytes += token.size();
    pieces_.reserve(vocabulary_.tokens.size(), n_bytes);
    std::string bytes;
    std::vector<int32_t> plain;
    for (int32_t id = 0; id < n_tokens(); ++id) {
      const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
      bytes.clear();
      append_with_spaces(bytes, token);
      pieces_.append(bytes);
      if (type_of(vocabulary_, id) != TokenType::kNormal || token.empty() || bytes == " ") continue;
      if (pieces_.index(id) != id) continue;  // of equal ones the first counts
      plain.push_back(id);
    }
    std::vector<std::pair<std::string_view, int32_t>> entries;
    for (const int32_t id : plain) entries.emplace_back(pieces_[id], id);
    trie_ = PieceTrie(std::move(entries));
    return true;
  }

  // Calls word(view) for what stands between white space, punctuation marks each alone.
  template <class Word>
  static void for_each_word(std::string_view text, Word&& word) {
    size_t begin = 0;
    const auto flush = [&](size_t end) {
      if (begin < end) word(text.substr(begin, end - begin));
    };
    for (size_t at = 0; at < text.size();) {
      const base::Utf8Unit unit = base::utf8_next(text, at);
      const size_t next = at + unit.bytes;
      const bool space = is_white_space(unit.code_point);
      if (space || (text_flags(unit.code_point) & detail::kBertPunctuation) != 0) {
        flush(at);
        begin = space ? next : at;
        flush(next);
        begin = next;
      }
      at = next;
    }
    flush(text.size());
  }

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const {
    const size_t first = ids.size();
    size_t n_characters = 0;
    for (size_t at = 0; at < word.size(); at += base::utf8_next(word, at).bytes) ++n_characters;
    std::string marked(" ");
    marked.append(word);
    for (size_t at = 0; at < marked.size() && n_characters <= kMostCharacters;) {
      size_t longest = 0;
      int32_t id = -1;
      trie_.walk(marked, at, [&](size_t length, int32_t found) {
        longest = length;
        id = found;
      });
      if (id < 0) {
        n_characters = kMostCharacters + 1;  // no piece: the whole word is unknown
        break;
      }
      ids.push_back(id);
      at += longest;
    }
    if (n_characters <= kMostCharacters) return;
    ids.resize(first);
    ids.push_back(*vocabulary_.unk);
  }

  Normalizer normalizer_;
  Pieces pieces_;
  PieceTrie trie_;
  std::optional<AddedTokens> added_;
};

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_word_piece(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<WordPiece>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
