// The vocabulary file of RWKV's World models, which their folders hold in place of a
// tokenizer.json: a line for each token, with its id, its text as Python writes it ('text' or
// b'bytes') and how many bytes it has. Read next: tokenizer/rwkv.cpp.
#pragma once

#include <string_view>

#include "formats/hf_tokenizer.h"

namespace puna::formats {

inline constexpr const char* kWorldVocabulary = "rwkv_vocab_v20230424.txt";

// `text` is that file; of `files` the settings count that are beside it. Tokens are as GGUF has
// them (bytes as Python writes them), behind a token 0 that begins and ends texts; the blank line
// between turns ends one too. Errors: kCorrupt naming the line.
base::Result<HfTokenizer> read_world_vocabulary(std::string_view text,
                                                const HfTokenizerFiles& files);

}  // namespace puna::formats
