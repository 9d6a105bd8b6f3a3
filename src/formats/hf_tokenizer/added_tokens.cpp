// The "added_tokens" of a tokenizer.json.
#include <algorithm>
#include <unordered_map>

#include "base/log.h"
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::Pipeline;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

class Adder {
 public:
  Adder(Vocabulary& v, Pipeline& p) : v_(v), p_(p) {
    ids_.reserve(v.tokens.size());
    for (size_t id = 0; id < v.tokens.size(); ++id) {
      if (p.in_model[id]) ids_[v.tokens[id]] = static_cast<int32_t>(id);
    }
    next_ = static_cast<int32_t>(ids_.size());
  }

  Result<void> add(const Json& entry) {
    PUNA_TRY(const int64_t written, entry.get_integer("id"));
    PUNA_TRY(const std::string content, entry.get_string("content"));
    PUNA_TRY(const bool special, flag(entry, "special", false));
    tokenizer::TokenRules rules;
    PUNA_TRY(rules.left_spaces, flag(entry, "lstrip", false));
    PUNA_TRY(rules.right_spaces, flag(entry, "rstrip", false));
    PUNA_TRY(rules.single_word, flag(entry, "single_word", false));
    PUNA_TRY(rules.normalized, flag(entry, "normalized", !special));
    if (content.empty()) return {};
    PUNA_TRY(rules.id, place(content, written));
    TokenType& type = v_.types[static_cast<size_t>(rules.id)];
    type = !special             ? TokenType::kUserDefined
           : v_.unk == rules.id ? TokenType::kUnknown
                                : TokenType::kControl;
    std::erase_if(v_.rules, [&](const auto& known) { return known.id == rules.id; });
    if (rules.left_spaces || rules.right_spaces || rules.single_word || rules.normalized)
      v_.rules.push_back(rules);
    return {};
  }

 private:
  // The id that the library gives: the model's own, else the next one.
  Result<int32_t> place(const std::string& content, int64_t written) {
    int32_t id = 0;
    if (const auto known = ids_.find(content); known != ids_.end()) {
      id = known->second;
    } else {
      const auto at = static_cast<size_t>(next_);
      // Where the model leaves ids out the next one may be taken; then the file's word counts.
      const bool taken = at < v_.tokens.size() && v_.types[at] != TokenType::kUnused;
      if (taken && (written < 0 || static_cast<uint64_t>(written) > v_.tokens.size()))
        return corrupt(fmt::format("the id {} for the token \"{}\", but {} tokens in all.", written,
                                   content, v_.tokens.size()));
      id = taken ? static_cast<int32_t>(written) : next_++;
      PUNA_TRY(put(id, content));
      ids_[content] = id;
    }
    if (id != written)
      base::log_warning(
          "The tokenizer.json has the id {} for the added token \"{}\", which is {} in its "
          "vocabulary; that counts.",
          written, content, id);
    return id;
  }
  Result<void> put(int32_t id, const std::string& content) {
    const auto at = static_cast<size_t>(id);
    if (at < v_.tokens.size() && v_.types[at] != TokenType::kUnused)
      return corrupt(
          fmt::format("the id {} for \"{}\" and for \"{}\".", id, v_.tokens[at], content));
    if (at == v_.tokens.size()) {
      v_.tokens.emplace_back();
      v_.types.push_back(TokenType::kUnused);
      p_.in_model.push_back(false);
      if (!v_.scores.empty()) v_.scores.push_back(0);
    }
    v_.tokens[at] = content;
    return {};
  }

  Vocabulary& v_;
  Pipeline& p_;
  std::unordered_map<std::string, int32_t> ids_;
  int32_t next_ = 0;  // for the next token that the model lacks
};

}  // namespace

Result<void> read_added_tokens(const Json* list, Vocabulary& vocabulary, Pipeline& pipeline) {
  if (!list || list->is_null()) return {};
  if (!list->is_array()) return corrupt("no list \"added_tokens\".");
  Adder adder(vocabulary, pipeline);
  for (const Json& entry : list->items()) PUNA_TRY(adder.add(entry));
  std::sort(vocabulary.rules.begin(), vocabulary.rules.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return {};
}

}  // namespace puna::formats::hf
