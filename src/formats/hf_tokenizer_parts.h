// Inside hf_tokenizer: the parts of a tokenizer.json, each read into the Vocabulary it says
// something about.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/vocabulary.h"

namespace puna::formats::hf {

// What "type" says; "" for null.
base::Result<std::string> type_of(const base::Json* part, std::string_view what);
// Members that may be missing. Errors: kCorrupt when another kind of value stands there.
base::Result<bool> flag(const base::Json& part, std::string_view key, bool otherwise);
base::Result<std::string> text(const base::Json& part, std::string_view key,
                               std::string_view otherwise = {});
// The parts of a Sequence in order, those of Sequences inside it too; one part for anything else.
base::Result<std::vector<const base::Json*>> flatten(const base::Json* part, std::string_view list);

inline std::unexpected<base::Error> unsupported(std::string message) {
  return base::fail(base::ErrorCode::kUnsupported, "The tokenizer.json has " + std::move(message));
}
inline std::unexpected<base::Error> corrupt(std::string message) {
  return base::fail(base::ErrorCode::kCorrupt, "The tokenizer.json has " + std::move(message));
}

// "model": pieces, scores, merges, the unknown token; model, and whether whole words go first.
base::Result<void> read_model(const base::Json& model, tokenizer::Vocabulary& vocabulary);
// "added_tokens": kinds and rules of tokens, and new ones.
base::Result<void> read_added_tokens(const base::Json* list, tokenizer::Vocabulary& vocabulary);
// "normalizer" and "pre_tokenizer" of a vocabulary whose model is read: steps, splits, prefix, and
// the name of the rule. Turns a BPE model into a "gpt2", "llama" or "gemma4" one.
base::Result<void> read_text_steps(const base::Json* normalizer, const base::Json* pre_tokenizer,
                                   tokenizer::Vocabulary& vocabulary);
// "post_processor": what goes around the text.
base::Result<void> read_post_processor(const base::Json* part, tokenizer::Vocabulary& vocabulary);

// The id of a token by its text.
std::optional<int32_t> find_token(const tokenizer::Vocabulary& vocabulary, std::string_view token);

}  // namespace puna::formats::hf
