// The tokenizer of RWKV's World models ("rwkv"): at each place the longest token, whatever words or
// characters it goes across. Tokens are any bytes, which GGUF has as Python writes them between the
// quotes of b'...' (python_literal.h).
#include <fmt/format.h>

#include "tokenizer/piece_trie.h"
#include "tokenizer/pieces.h"
#include "tokenizer/python_literal.h"
#include "tokenizer/tokenizers.h"

namespace puna::tokenizer {

namespace {

class Rwkv final : public Tokenizer {
 public:
  explicit Rwkv(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {
    vocabulary_.space_prefix = SpacePrefix::kNever;
  }

  base::Result<bool> init() {
    added_.emplace(vocabulary_, [](std::string_view text, auto&) { return text; });
    size_t n_bytes = 0;
    for (const std::string& token : vocabulary_.tokens) n_bytes += token.size();
    pieces_.reserve(vocabulary_.tokens.size(), n_bytes);
    std::vector<std::pair<std::string_view, int32_t>> entries;
    for (int32_t id = 0; id < n_tokens(); ++id) {
      const bool escaped = type_of(vocabulary_, id) == TokenType::kNormal;
      PUNA_TRY(append_piece(id, escaped));
      // Of equal ones the first counts.
      if (escaped && !pieces_[id].empty() && pieces_.index(id) == id)
        entries.emplace_back(std::string_view(), id);
    }
    // Only now do the bytes of all pieces stay where they are.
    for (auto& [bytes, id] : entries) bytes = pieces_[id];
    trie_ = PieceTrie(std::move(entries));
    return true;
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 3 + 4);
    std::deque<std::string> kept;
    encode_framed(
        vocabulary_, *added_, text, options, kept, ids,
        [](std::string_view part, auto&) { return part; },
        [&](std::string_view part, bool) { encode_plain(part, ids); });
    return ids;
  }

  std::string bytes(int32_t id, bool special) const override {
    if (id < 0 || id >= n_tokens() || (!special && is_special(type_of(vocabulary_, id)))) return {};
    return std::string(pieces_[id]);
  }

 private:
  base::Result<bool> append_piece(int32_t id, bool escaped) {
    const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
    const auto bytes = escaped ? read_python_literal(token, /*is_bytes=*/true) : token;
    if (!bytes) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("The token {} (\"{}\") has an escape that is not one of \\t, "
                                    "\\n, \\r, \\\\, \\', \\\" and \\xff.",
                                    id, token));
    }
    pieces_.append(*bytes);
    return true;
  }

  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
    for (size_t at = 0; at < text.size();) {
      size_t longest = 1;
      int32_t id = vocabulary_.unk.value_or(-1);  // of a byte that no token begins with
      trie_.walk(text, at, [&](size_t length, int32_t found) {
        longest = length;
        id = found;
      });
      if (id >= 0) ids.push_back(id);
      at += longest;
    }
  }

  Pieces pieces_;
  PieceTrie trie_;
  std::optional<AddedTokens> added_;
};

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> make_rwkv(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<Rwkv>(std::move(vocabulary));
  PUNA_TRY(tokenizer->init());
  return tokenizer;
}

}  // namespace puna::tokenizer
