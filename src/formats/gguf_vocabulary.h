// The tokenizer.ggml.* keys of GGUF metadata as a Vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"

namespace puna::formats {

// Moves the big lists (tokens, scores, types, merges) out of `metadata` and reads the small keys
// beside them, which stay. Without "tokenizer.ggml.model" the vocabulary is empty: not every model
// has one. Errors: kCorrupt naming the key: lists of different lengths, ids outside the vocabulary,
// a value of another kind.
base::Result<tokenizer::Vocabulary> take_vocabulary(
    std::vector<std::pair<std::string, Value>>& metadata);

// Appends the small keys (tokenizer.ggml.model, pre, ids, flags; tokenizer.chat_template unless it
// is empty) that take_vocabulary reads back as this vocabulary; GgufWriter writes the big lists.
// Nothing is appended for an empty vocabulary.
void put_vocabulary(const tokenizer::Vocabulary& vocabulary, std::string_view chat_template,
                    std::vector<std::pair<std::string, Value>>& metadata);

}  // namespace puna::formats
