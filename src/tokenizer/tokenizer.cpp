#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/tokenizers.h"

namespace puna::tokenizer {

namespace {

// Far above any real token; without a limit one token could make every step of a text a long walk.
constexpr size_t kLongestToken = 4096;

// What every kind of tokenizer relies on.
base::Result<bool> check(const Vocabulary& v) {
  const auto corrupt = [](std::string message) {
    return base::fail(base::ErrorCode::kCorrupt, std::move(message));
  };
  const size_t n = v.tokens.size();
  if (n == 0) return corrupt("The vocabulary has no tokens.");
  if (n > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return corrupt(fmt::format("The vocabulary has too many tokens ({}).", n));
  if (!v.types.empty() && v.types.size() != n)
    return corrupt(
        fmt::format("The vocabulary has {} tokens but {} token types.", n, v.types.size()));
  if (!v.scores.empty() && v.scores.size() != n)
    return corrupt(fmt::format("The vocabulary has {} tokens but {} scores.", n, v.scores.size()));
  for (size_t id = 0; id < n; ++id) {
    if (v.tokens[id].size() > kLongestToken)
      return corrupt(fmt::format("The token {} has {} bytes (at most {} are read).", id,
                                 v.tokens[id].size(), kLongestToken));
    if (!v.types.empty() && (v.types[id] < TokenType::kNormal || v.types[id] > TokenType::kByte)) {
      return corrupt(fmt::format("The token {} (\"{}\") has the unknown type {}.", id, v.tokens[id],
                                 static_cast<int>(v.types[id])));
    }
  }
  const auto in_range = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < n; };
  const std::pair<const char*, const std::optional<int32_t>*> named[] = {
      {"beginning-of-sequence", &v.bos},
      {"end-of-sequence", &v.eos},
      {"end-of-turn", &v.eot},
      {"unknown", &v.unk},
      {"padding", &v.pad}};
  for (const auto& [name, id] : named) {
    if (*id && !in_range(**id))
      return corrupt(
          fmt::format("The {} token is {}, but the vocabulary ends at {}.", name, **id, n - 1));
  }
  for (const int32_t id : v.end_tokens) {
    if (!in_range(id))
      return corrupt(fmt::format("An end token is {}, but the vocabulary ends at {}.", id, n - 1));
  }
  return true;
}

// Appends the text of one id. `first`: text begins here, so a space that encode has put in front is
// left out.
void append_text(const Tokenizer& tokenizer, int32_t id, bool special, bool& first,
                 std::string& out) {
  if (id < 0 || id >= tokenizer.n_tokens()) return;
  std::string bytes = tokenizer.bytes(id, special);
  if (is_special(type_of(tokenizer.vocabulary(), id))) {
    // Encode begins anew after a special token, unless it puts a space only in front of all.
    first |= tokenizer.vocabulary().space_prefix != SpacePrefix::kFirstUnlessSpace;
    out += bytes;
    return;
  }
  const bool drop = first && tokenizer.adds_space() && bytes.starts_with(' ');
  first = false;
  out.append(bytes, drop ? 1 : 0);
}

constexpr struct {
  std::string_view model;
  base::Result<std::unique_ptr<Tokenizer>> (*make)(Vocabulary);
} kMakers[] = {
    {"gpt2", make_byte_level_bpe},      {"llama", make_sentencepiece_bpe},
    {"gemma4", make_sentencepiece_bpe}, {"t5", make_unigram},
    {"bert", make_word_piece},          {"rwkv", make_rwkv},
    {"pipeline", make_pipeline},
};

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::create(Vocabulary vocabulary) {
  PUNA_TRY(check(vocabulary));
  for (const auto& [model, make] : kMakers) {
    if (vocabulary.model == model) return make(std::move(vocabulary));
  }
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("The tokenizer model \"{}\" is not supported (gpt2, llama, gemma4, "
                                "t5, bert and rwkv are).",
                                vocabulary.model));
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool special) const {
  std::string out;
  bool first = true;
  for (const int32_t id : ids) append_text(*this, id, special, first, out);
  return out;
}

bool Tokenizer::is_end(int32_t id) const {
  return std::find(vocabulary_.end_tokens.begin(), vocabulary_.end_tokens.end(), id) !=
         vocabulary_.end_tokens.end();
}

// Adds what the text of the last ids has gained. The ids before the last ones are let go of: no
// decoder looks further than to its neighbours, but for what it does at the very beginning.
void StreamDecoder::decode_window(int32_t id) {
  constexpr size_t kLongestWindow = 32;
  window_.push_back(id);
  std::string text = tokenizer_.decode(window_, special_);
  // An unfinished character may still change what the decoders make of it.
  if (base::utf8_complete_prefix(text) != text.size()) return;
  if (text.size() > window_bytes_) pending_ += text.substr(window_bytes_);
  window_bytes_ = text.size();
  if (window_.size() < kLongestWindow) return;
  window_.erase(window_.begin(), window_.end() - kLongestWindow / 2);
  window_bytes_ = tokenizer_.decode(window_, special_).size();
}

std::string StreamDecoder::push(int32_t id) {
  if (tokenizer_.decodes_in_context()) {
    decode_window(id);
  } else {
    append_text(tokenizer_, id, special_, first_, pending_);
  }
  const size_t complete = base::utf8_complete_prefix(pending_);
  std::string out = pending_.substr(0, complete);
  pending_.erase(0, complete);
  return out;
}

std::string StreamDecoder::finish() {
  if (tokenizer_.decodes_in_context()) {
    const std::string text = tokenizer_.decode(window_, special_);
    if (text.size() > window_bytes_) pending_ += text.substr(window_bytes_);
    window_.clear();
    window_bytes_ = 0;
  }
  return std::exchange(pending_, {});
}

}  // namespace puna::tokenizer
