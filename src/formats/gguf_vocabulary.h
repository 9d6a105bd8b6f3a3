// The tokenizer.ggml.* keys of GGUF metadata as a Vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"

namespace puna::formats {

// Moves the big lists (tokens, scores, types, merges) and tokenizer.huggingface.json out of
// `metadata` and reads the small keys beside them, which stay. Without "tokenizer.ggml.model" the
// vocabulary is empty: not every model has one. What no text depends on is passed over with one
// warning where it is wrong: ids outside the vocabulary, flags that are none. Errors, which leave
// `metadata` as it was: kCorrupt naming the key, for lists of different lengths or of another kind.
base::Result<tokenizer::Vocabulary> take_vocabulary(
    std::vector<std::pair<std::string, Value>>& metadata);

// A token id as files give it: nothing for the numbers that mean none (-1, or 32 bits of ones), and
// for those outside the vocabulary.
struct TokenId {
  std::optional<int32_t> id;
  bool outside = false;
};
TokenId token_id(int64_t id, size_t n_tokens);
// What a warning of the first of `n` wrong ids says of the others.
std::string of_ids(size_t n);

// Appends the small keys (tokenizer.ggml.model, pre, ids, flags; tokenizer.chat_template unless it
// is empty) that take_vocabulary reads back as this vocabulary; GgufWriter writes the big lists.
// Nothing is appended for an empty vocabulary.
void put_vocabulary(const tokenizer::Vocabulary& vocabulary, std::string_view chat_template,
                    std::vector<std::pair<std::string, Value>>& metadata);

// Fills end_tokens: eos, eot, `more`, and the tokens that end a turn by their names.
void find_end_tokens(std::span<const int32_t> more, tokenizer::Vocabulary& vocabulary);

// How many ids without a token a vocabulary may have.
inline constexpr size_t kMostHoles = 65536;

// Embedding tables may have rows that no token uses: the vocabulary gets tokens for them. It is
// dropped where they are more than kMostHoles.
void fit_vocabulary(ModelFile& file);
// Leaves the file without its vocabulary, with a warning; only who needs texts gets the error.
void drop_vocabulary(ModelFile& file, base::Error why);

// Whether what take_vocabulary makes of put_vocabulary's keys is this vocabulary again. Where it is
// not, huggingface_json goes into the file too (key tokenizer.huggingface.json of the GGUF
// specification) and is read in place of the others.
bool gguf_says_all(const tokenizer::Vocabulary& vocabulary);

}  // namespace puna::formats
