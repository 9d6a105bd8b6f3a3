// Inside hf_tokenizer: the parts of a tokenizer.json. Each part is a file with a table from the
// component's name to its reader; all fill one Vocabulary and the Pipeline beside it. Read next:
// quick.cpp, which finds the files that a quicker model says.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/pipeline/pipeline.h"
#include "tokenizer/vocabulary.h"

namespace puna::formats::hf {

// What "type" says; "" for null.
base::Result<std::string> type_of(const base::Json* part, std::string_view what);
// Members that may be missing. Errors: kCorrupt when another kind of value stands there.
base::Result<bool> flag(const base::Json& part, std::string_view key, bool otherwise);
base::Result<std::string> text(const base::Json& part, std::string_view key,
                               std::string_view otherwise = {});
base::Result<uint32_t> count(const base::Json& part, std::string_view key, uint32_t otherwise);
// The parts of a Sequence in order, those of Sequences inside it too; one part for anything else.
base::Result<std::vector<const base::Json*>> flatten(const base::Json* part, std::string_view list);

// {"String": "x"} or {"Regex": "x"}.
struct PatternText {
  std::string text;
  bool is_expression = false;
};
base::Result<PatternText> read_pattern(const base::Json& part);

inline std::unexpected<base::Error> unsupported(std::string message) {
  return base::fail(base::ErrorCode::kUnsupported, "The tokenizer.json has " + std::move(message));
}
inline std::unexpected<base::Error> corrupt(std::string message) {
  return base::fail(base::ErrorCode::kCorrupt, "The tokenizer.json has " + std::move(message));
}

// A component of a part: its name in the file, and what reads it.
template <class Out>
struct Component {
  std::string_view name;
  base::Result<void> (*read)(const base::Json& part, Out& out);
};
// Reads each of the parts with the component of its name. Errors: kUnsupported naming what is not
// in the table.
template <class Out>
base::Result<void> read_components(std::span<const base::Json* const> parts, std::string_view what,
                                   std::span<const Component<Out>> table, Out& out) {
  for (const base::Json* part : parts) {
    PUNA_TRY(const std::string type, type_of(part, what));
    const Component<Out>* found = nullptr;
    for (const auto& row : table) {
      if (row.name == type) found = &row;
    }
    if (!found)
      return unsupported(fmt::format("the {} \"{}\", which is not supported.", what, type));
    PUNA_TRY(found->read(*part, out));
  }
  return {};
}

// "model": tokens, scores, the unknown token; merges and settings go into the pipeline.
base::Result<void> read_model(const base::Json& model, tokenizer::Vocabulary& vocabulary,
                              tokenizer::Pipeline& pipeline);
// "added_tokens": kinds and rules of tokens, and new ones. A token that the model has keeps the id
// it has there, a new one gets the next id, as in the library.
base::Result<void> read_added_tokens(const base::Json* list, tokenizer::Vocabulary& vocabulary,
                                     tokenizer::Pipeline& pipeline);
base::Result<void> read_normalizer(const base::Json* part,
                                   std::vector<tokenizer::NormalizerStep>& steps);
base::Result<void> read_pre_tokenizer(const base::Json* part,
                                      std::vector<tokenizer::PreTokenizerStep>& steps);
// "post_processor": what goes around the text.
base::Result<void> read_post_processor(const base::Json* part, tokenizer::Vocabulary& vocabulary);
base::Result<void> read_decoder(const base::Json* part, tokenizer::Pipeline& pipeline);

// Whether one of the quicker models ("gpt2", "llama", "gemma4", "t5", "bert") gives the same ids;
// then the vocabulary is turned into one of it.
bool take_quick_model(tokenizer::Vocabulary& vocabulary, const tokenizer::Pipeline& pipeline);

// The id of a token by its text.
std::optional<int32_t> find_token(const tokenizer::Vocabulary& vocabulary, std::string_view token);

}  // namespace puna::formats::hf
