// The tokenizer.ggml.* keys of GGUF metadata as a Vocabulary.
#pragma once

#include <span>
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

// Fills end_tokens: eos, eot, `more`, and the tokens that end a turn by their names.
void find_end_tokens(std::span<const int32_t> more, tokenizer::Vocabulary& vocabulary);

// Whether what take_vocabulary makes of put_vocabulary's keys is this vocabulary again. Where it is
// not, huggingface_json goes into the file too (key tokenizer.huggingface.json of the GGUF
// specification) and is read in place of the others.
bool gguf_says_all(const tokenizer::Vocabulary& vocabulary);

}  // namespace puna::formats
