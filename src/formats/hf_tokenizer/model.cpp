// The "model" of a tokenizer.json.
#include <algorithm>

#include "formats/gguf_vocabulary.h"
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::Pipeline;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

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
Result<void> read_merges(const Json& model, Pipeline& pipeline) {
  const Json* merges = model.find("merges");
  if (!merges || !merges->is_array()) return corrupt("no list \"merges\" in its model.");
  auto& out = pipeline.merges;
  out.reserve(merges->items().size());
  const auto wrong = [&] {
    return corrupt(fmt::format("a merge {} that is no pair of pieces.", out.size()));
  };
  for (const Json& merge : merges->items()) {
    if (merge.is_string()) {
      const std::string& line = merge.string();
      if (line.starts_with("#version")) continue;
      const size_t space = line.find(' ');
      if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
        return wrong();
      out.emplace_back(line.substr(0, space), line.substr(space + 1));
      continue;
    }
    if (!merge.is_array() || merge.items().size() != 2 || !merge.items()[0].is_string() ||
        !merge.items()[1].is_string())
      return wrong();
    out.emplace_back(merge.items()[0].string(), merge.items()[1].string());
  }
  return {};
}

Result<void> read_unknown(const Json& model, Vocabulary& v) {
  PUNA_TRY(const std::string unknown, text(model, "unk_token"));
  if (unknown.empty()) return {};
  v.unk = find_token(v, unknown);
  if (!v.unk) return corrupt(fmt::format("no token \"{}\", which its unk_token names.", unknown));
  return {};
}

// The library leaves out merges at random then, so that a text has no ids of its own.
Result<void> refuse_dropout(const Json& model) {
  const Json* value = model.find("dropout");
  if (!value || value->is_null() || (value->is_number() && value->number() == 0)) return {};
  return unsupported(
      fmt::format("the setting dropout = {} in its model, which is not supported.", value->dump()));
}

// The files' way to say that there is none is null or "".
struct Context {
  Vocabulary& v;
  Pipeline& p;
};

Result<void> read_bpe(const Json& model, Context& to) {
  to.p.model = Pipeline::Model::kBpe;
  PUNA_TRY(refuse_dropout(model));
  PUNA_TRY(to.p.inside_prefix, text(model, "continuing_subword_prefix"));
  PUNA_TRY(to.p.end_suffix, text(model, "end_of_word_suffix"));
  PUNA_TRY(to.p.whole_words, flag(model, "ignore_merges", false));
  PUNA_TRY(to.p.byte_fallback, flag(model, "byte_fallback", false));
  PUNA_TRY(to.p.fuse_unknown, flag(model, "fuse_unk", false));
  PUNA_TRY(read_vocab_object(model, to.v));
  PUNA_TRY(read_merges(model, to.p));
  return read_unknown(model, to.v);
}

Result<void> read_unigram(const Json& model, Context& to) {
  to.p.model = Pipeline::Model::kUnigram;
  PUNA_TRY(to.p.byte_fallback, flag(model, "byte_fallback", false));
  PUNA_TRY(read_vocab_list(model, to.v));
  const Json* unknown = model.find("unk_id");
  if (!unknown || !unknown->is_integer() || unknown->integer() < 0 ||
      static_cast<uint64_t>(unknown->integer()) >= to.v.tokens.size())
    return corrupt("no unk_id within its vocabulary.");
  to.v.unk = static_cast<int32_t>(unknown->integer());
  return {};
}

Result<void> read_word_piece(const Json& model, Context& to) {
  to.p.model = Pipeline::Model::kWordPiece;
  PUNA_TRY(to.p.inside_prefix, text(model, "continuing_subword_prefix", "##"));
  PUNA_TRY(to.p.most_characters, count(model, "max_input_chars_per_word", 100));
  PUNA_TRY(read_vocab_object(model, to.v));
  PUNA_TRY(read_unknown(model, to.v));
  if (!to.v.unk) return corrupt("no unk_token in its WordPiece model.");
  return {};
}

Result<void> read_word_level(const Json& model, Context& to) {
  to.p.model = Pipeline::Model::kWordLevel;
  PUNA_TRY(read_vocab_object(model, to.v));
  PUNA_TRY(read_unknown(model, to.v));
  if (!to.v.unk) return corrupt("no unk_token in its WordLevel model.");
  return {};
}

constexpr Component<Context> kModels[] = {{"BPE", read_bpe},
                                          {"Unigram", read_unigram},
                                          {"WordPiece", read_word_piece},
                                          {"WordLevel", read_word_level}};

}  // namespace

std::optional<int32_t> find_token(const Vocabulary& vocabulary, std::string_view token) {
  const auto it = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
  if (it == vocabulary.tokens.end()) return {};
  return static_cast<int32_t>(it - vocabulary.tokens.begin());
}

Result<void> read_model(const Json& model, Vocabulary& vocabulary, Pipeline& pipeline) {
  std::string type;
  if (model.find("type")) {
    PUNA_TRY(type, type_of(&model, "model"));
  } else {  // files of old versions leave it out
    type = model.find("merges")                     ? "BPE"
           : model.find("unk_id")                   ? "Unigram"
           : model.find("max_input_chars_per_word") ? "WordPiece"
                                                    : "";
  }
  Context to{vocabulary, pipeline};
  for (const auto& [name, read] : kModels) {
    if (type != name) continue;
    PUNA_TRY(read(model, to));
    pipeline.in_model.resize(vocabulary.tokens.size());
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id)
      pipeline.in_model[id] = vocabulary.types[id] != TokenType::kUnused;
    return {};
  }
  return unsupported(
      fmt::format("a model of type \"{}\", which is not supported (BPE, Unigram, WordPiece and "
                  "WordLevel are).",
                  type));
}

}  // namespace puna::formats::hf
