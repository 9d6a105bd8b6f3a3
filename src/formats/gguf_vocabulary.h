// The tokenizer.ggml.* keys of GGUF metadata as a Vocabulary.
#pragma once

#include <string>
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

}  // namespace puna::formats
