#include "grammar/vocabulary.h"

#include <algorithm>

namespace puna::grammar {

namespace {

// The tokens of a text that follows another. Some tokenizers put a space before a text, which is
// none of its own: there it stands before a line end, whose tokens are taken off again.
std::vector<int32_t> encode_behind(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  static constexpr tokenizer::EncodeOptions kPlain{.add_special = false, .parse_special = false};
  static constexpr std::string_view kLineEnd = "\n";
  if (tokenizer.vocabulary().space_prefix == tokenizer::SpacePrefix::kNever)
    return tokenizer.encode(text, kPlain);
  const std::vector<int32_t> before = tokenizer.encode(kLineEnd, kPlain);
  std::vector<int32_t> ids = tokenizer.encode(std::string(kLineEnd).append(text), kPlain);
  // Where a token reaches over the line end, nothing is known of the text alone.
  if (ids.size() < before.size() || !std::equal(before.begin(), before.end(), ids.begin()))
    return {};
  ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(before.size()));
  return ids;
}

}  // namespace

base::Result<std::shared_ptr<const GrammarVocabulary>> GrammarVocabulary::create(
    const tokenizer::Tokenizer& tokenizer) {
  if (tokenizer.decodes_in_context()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      "The text of this model's tokens depends on those around them, so no grammar "
                      "can be kept to.");
  }
  const tokenizer::Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<std::string> texts(vocabulary.tokens.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    const auto type =
        vocabulary.types.empty() ? tokenizer::TokenType::kNormal : vocabulary.types[id];
    if (type == tokenizer::TokenType::kUnknown || type == tokenizer::TokenType::kUnused) continue;
    texts[id] = tokenizer.bytes(static_cast<int32_t>(id));
    // A byte that is part of no character would pass for what stands before marks.
    if (texts[id].find(kControl) != std::string::npos) texts[id].clear();
    if (type != tokenizer::TokenType::kControl) continue;
    texts[id] = std::string(kControl) + tokenizer.bytes(static_cast<int32_t>(id), /*special=*/true);
  }
  for (const int32_t id : vocabulary.end_tokens) {
    if (id >= 0 && static_cast<size_t>(id) < texts.size()) texts[static_cast<size_t>(id)].clear();
  }
  return std::make_shared<const GrammarVocabulary>(
      texts, vocabulary.end_tokens,
      [&tokenizer](std::string_view text) { return encode_behind(tokenizer, text); });
}

GrammarVocabulary::GrammarVocabulary(const std::vector<std::string>& texts,
                                     std::vector<int32_t> end_tokens, Encode encode)
    : end_tokens_(std::move(end_tokens)), encode_(std::move(encode)) {
  std::erase_if(end_tokens_,
                [&](int32_t id) { return id < 0 || static_cast<size_t>(id) >= texts.size(); });
  size_t n_bytes = 0;
  for (const std::string& text : texts) n_bytes += text.size();
  bytes_.reserve(n_bytes);
  offsets_.push_back(0);
  for (const std::string& text : texts) {
    bytes_ += text;
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  std::vector<TokenTrie::Token> tokens;
  tokens.reserve(texts.size());
  for (uint32_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty()) tokens.push_back({text(id), id, {}});
  }
  trie_ = TokenTrie(std::move(tokens));
}

bool GrammarVocabulary::is_end(int32_t id) const {
  return std::ranges::find(end_tokens_, id) != end_tokens_.end();
}

std::vector<int32_t> GrammarVocabulary::encode(std::string_view text) const {
  if (!encode_) return {};
  std::vector<int32_t> out;
  while (!text.empty()) {
    if (text.starts_with(kControl)) {
      const int32_t id = longest_token(text);
      if (id < 0) return {};
      out.push_back(id);
      text.remove_prefix(this->text(static_cast<uint32_t>(id)).size());
      continue;
    }
    const std::string_view plain = text.substr(0, text.find(kControl));
    size_t at = 0;
    for (const int32_t id : encode_(plain)) {
      if (id < 0 || static_cast<uint32_t>(id) >= n_tokens()) return {};
      const std::string_view part = this->text(static_cast<uint32_t>(id));
      if (part.empty() || plain.substr(at, part.size()) != part) return {};
      at += part.size();
      out.push_back(id);
    }
    if (at != plain.size()) return {};
    text.remove_prefix(plain.size());
  }
  return out;
}

int32_t GrammarVocabulary::longest_token(std::string_view text) const {
  int32_t out = -1;
  uint32_t begin = 0, end = trie_.n_nodes();
  for (const char c : text) {
    while (begin < end && trie_.node(begin).byte != static_cast<uint8_t>(c))
      begin = trie_.node(begin).end;
    if (begin >= end) break;
    if (trie_.tokens_begin(begin) < trie_.tokens_end(begin))
      out = static_cast<int32_t>(trie_.id(trie_.tokens_begin(begin)));
    end = trie_.node(begin).end;
    ++begin;
  }
  return out;
}

bool GrammarVocabulary::longer_token(std::string_view text) const {
  uint32_t begin = 0, end = trie_.n_nodes();
  for (const char c : text) {
    while (begin < end && trie_.node(begin).byte != static_cast<uint8_t>(c))
      begin = trie_.node(begin).end;
    if (begin >= end) return false;
    end = trie_.node(begin).end;
    ++begin;
  }
  return begin < end;
}

}  // namespace puna::grammar
