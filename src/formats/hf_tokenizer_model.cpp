// The "model" and "added_tokens" of a tokenizer.json.
#include <algorithm>
#include <limits>

#include "formats/hf_tokenizer_parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

// Ids that the file leaves out are padded, but not by more than this.
constexpr size_t kMostHoles = 65536;

// A token at an id that may lie beyond the list; the ids between are unused so far. `n_entries`:
// how many tokens the file has in all.
Result<void> put_token(Vocabulary& v, int64_t id, const std::string& token, TokenType type,
                       size_t n_entries) {
  if (id < 0 || static_cast<uint64_t>(id) >= n_entries + kMostHoles)
    return corrupt(
        fmt::format("the id {} for the token \"{}\", but {} tokens in all.", id, token, n_entries));
  const auto at = static_cast<size_t>(id);
  if (at < v.tokens.size() && v.types[at] != TokenType::kUnused && v.tokens[at] != token)
    return corrupt(fmt::format("the id {} for \"{}\" and for \"{}\".", id, v.tokens[at], token));
  while (v.tokens.size() <= at) {
    v.tokens.push_back(fmt::format("[PAD{}]", v.tokens.size()));
    v.types.push_back(TokenType::kUnused);
  }
  v.tokens[static_cast<size_t>(id)] = token;
  v.types[static_cast<size_t>(id)] = type;
  return {};
}

// {"piece": id, ...}
Result<void> read_vocab_object(const Json& model, Vocabulary& v) {
  const Json* vocab = model.find("vocab");
  if (!vocab || !vocab->is_object()) return corrupt("no object \"vocab\" in its model.");
  std::vector<std::pair<int64_t, const std::string*>> pieces;
  pieces.reserve(vocab->members().size());
  for (const auto& [piece, id] : vocab->members()) {
    if (!id.is_integer())
      return corrupt(fmt::format("the id of token \"{}\" as a {}.", piece, id.type_name()));
    pieces.emplace_back(id.integer(), &piece);
  }
  std::sort(pieces.begin(), pieces.end());
  for (const auto& [id, piece] : pieces)
    PUNA_TRY(put_token(v, id, *piece, TokenType::kNormal, pieces.size()));
  return {};
}

// [["piece", score], ...]
Result<void> read_vocab_list(const Json& model, Vocabulary& v) {
  const Json* vocab = model.find("vocab");
  if (!vocab || !vocab->is_array()) return corrupt("no list \"vocab\" in its model.");
  for (const Json& entry : vocab->items()) {
    if (!entry.is_array() || entry.items().size() != 2 || !entry.items()[0].is_string() ||
        !entry.items()[1].is_number())
      return corrupt(
          fmt::format("a vocabulary entry {} that is no piece with its score.", v.tokens.size()));
    v.tokens.push_back(entry.items()[0].string());
    v.scores.push_back(static_cast<float>(entry.items()[1].number()));
    v.types.push_back(TokenType::kNormal);
  }
  return {};
}

// ["left right", ...] or [["left", "right"], ...]
Result<void> read_merges(const Json& model, Vocabulary& v) {
  const Json* merges = model.find("merges");
  if (!merges || !merges->is_array()) return corrupt("no list \"merges\" in its model.");
  v.merges.reserve(merges->items().size());
  for (const Json& merge : merges->items()) {
    if (merge.is_string()) {
      v.merges.push_back(merge.string());
      continue;
    }
    if (!merge.is_array() || merge.items().size() != 2 || !merge.items()[0].is_string() ||
        !merge.items()[1].is_string())
      return corrupt(fmt::format("a merge {} that is no pair of pieces.", v.merges.size()));
    const std::string& left = merge.items()[0].string();
    const std::string& right = merge.items()[1].string();
    if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos)
      return unsupported(
          fmt::format("a space in a piece of merge {} (\"{}\", \"{}\"), which is not "
                      "supported.",
                      v.merges.size(), left, right));
    v.merges.push_back(left + ' ' + right);
  }
  return {};
}

Result<void> read_unknown(const Json& model, Vocabulary& v) {
  PUNA_TRY(const std::string unknown, text(model, "unk_token"));
  if (unknown.empty()) return {};
  v.unk = find_token(v, unknown);
  if (!v.unk) return corrupt(fmt::format("no token \"{}\", which its unk_token names.", unknown));
  v.types[static_cast<size_t>(*v.unk)] = TokenType::kUnknown;
  return {};
}

// Settings that change the result and are not carried out.
Result<void> refuse(const Json& model, std::string_view key) {
  const Json* value = model.find(key);
  if (!value || value->is_null() || (value->is_string() && value->string().empty())) return {};
  return unsupported(
      fmt::format("the setting {} = {} in its model, which is not supported.", key, value->dump()));
}

Result<void> mark_bytes(const Json& model, Vocabulary& v) {
  PUNA_TRY(const bool bytes, flag(model, "byte_fallback", false));
  if (!bytes) return {};
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const std::string& token = v.tokens[id];
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    if (token.size() == 6 && token.starts_with("<0x") && token[5] == '>' && is_hex(token[3]) &&
        is_hex(token[4]))
      v.types[id] = TokenType::kByte;
  }
  return {};
}

Result<void> read_bpe(const Json& model, Vocabulary& v) {
  v.model = "bpe";  // which kind the steps before it tell
  for (const std::string_view key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    PUNA_TRY(refuse(model, key));
  PUNA_TRY(read_vocab_object(model, v));
  PUNA_TRY(read_merges(model, v));
  PUNA_TRY(v.whole_words, flag(model, "ignore_merges", false));
  PUNA_TRY(mark_bytes(model, v));
  return read_unknown(model, v);
}

Result<void> read_unigram(const Json& model, Vocabulary& v) {
  v.model = "t5";
  PUNA_TRY(read_vocab_list(model, v));
  PUNA_TRY(mark_bytes(model, v));
  const Json* unknown = model.find("unk_id");
  if (!unknown || !unknown->is_integer() || unknown->integer() < 0 ||
      static_cast<uint64_t>(unknown->integer()) >= v.tokens.size())
    return corrupt("no unk_id within its vocabulary.");
  v.unk = static_cast<int32_t>(unknown->integer());
  v.types[static_cast<size_t>(*v.unk)] = TokenType::kUnknown;
  return {};
}

Result<void> read_word_piece(const Json& model, Vocabulary& v) {
  v.model = "bert";
  PUNA_TRY(const std::string inside, text(model, "continuing_subword_prefix", "##"));
  const Json* longest = model.find("max_input_chars_per_word");
  if (inside != "##" || (longest && longest->dump() != "100"))
    return unsupported(
        "a WordPiece model of another prefix than ## or another word length than "
        "100, which is not supported.");
  PUNA_TRY(read_vocab_object(model, v));
  PUNA_TRY(read_unknown(model, v));
  if (!v.unk) return corrupt("no unk_token in its WordPiece model.");
  return {};
}

Result<void> read_added_token(const Json& entry, Vocabulary& v, size_t n_entries,
                              const std::unordered_map<std::string, int32_t>& ids) {
  PUNA_TRY(const int64_t id, entry.get_integer("id"));
  PUNA_TRY(const std::string content, entry.get_string("content"));
  PUNA_TRY(const bool special, flag(entry, "special", false));
  tokenizer::TokenRules rules;
  PUNA_TRY(rules.left_spaces, flag(entry, "lstrip", false));
  PUNA_TRY(rules.right_spaces, flag(entry, "rstrip", false));
  PUNA_TRY(rules.single_word, flag(entry, "single_word", false));
  PUNA_TRY(rules.normalized, flag(entry, "normalized", !special));
  if (content.empty()) return {};
  if (const auto known = ids.find(content); known != ids.end() && known->second != id)
    return corrupt(
        fmt::format("the ids {} and {} for the token \"{}\".", known->second, id, content));
  TokenType type = special ? TokenType::kControl : TokenType::kUserDefined;
  if (v.unk == id) type = TokenType::kUnknown;
  PUNA_TRY(put_token(v, id, content, type, n_entries));
  if (!v.scores.empty()) v.scores.resize(v.tokens.size());
  rules.id = static_cast<int32_t>(id);
  if (rules.left_spaces || rules.right_spaces || rules.single_word || rules.normalized)
    v.rules.push_back(rules);
  return {};
}

}  // namespace

std::optional<int32_t> find_token(const Vocabulary& vocabulary, std::string_view token) {
  const auto it = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
  if (it == vocabulary.tokens.end()) return {};
  return static_cast<int32_t>(it - vocabulary.tokens.begin());
}

Result<void> read_model(const Json& model, Vocabulary& vocabulary) {
  std::string type;
  if (model.find("type")) {
    PUNA_TRY(type, type_of(&model, "model"));
  } else {  // files of old versions leave it out
    type = model.find("merges")                     ? "BPE"
           : model.find("unk_id")                   ? "Unigram"
           : model.find("max_input_chars_per_word") ? "WordPiece"
                                                    : "";
  }
  if (type == "BPE") return read_bpe(model, vocabulary);
  if (type == "Unigram") return read_unigram(model, vocabulary);
  if (type == "WordPiece") return read_word_piece(model, vocabulary);
  return unsupported(fmt::format(
      "a model of type \"{}\", which is not supported (BPE, Unigram and WordPiece are).", type));
}

Result<void> read_added_tokens(const Json* list, Vocabulary& vocabulary) {
  if (!list || list->is_null()) return {};
  if (!list->is_array()) return corrupt("no list \"added_tokens\".");
  std::unordered_map<std::string, int32_t> ids;
  ids.reserve(vocabulary.tokens.size());
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id)
    ids.emplace(vocabulary.tokens[id], static_cast<int32_t>(id));
  const size_t n_entries = vocabulary.tokens.size() + list->items().size();
  for (const Json& entry : list->items())
    PUNA_TRY(read_added_token(entry, vocabulary, n_entries, ids));
  std::sort(vocabulary.rules.begin(), vocabulary.rules.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return {};
}

}  // namespace puna::formats::hf
