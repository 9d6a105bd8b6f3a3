// The tokenizer of a Hugging Face folder (tokenizer.json and the files beside it) as a Vocabulary,
// and the GGUF metadata that says the same. Read next: gguf_vocabulary.h, tokenizer/vocabulary.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/model_file.h"

namespace puna::formats {

// The texts of the files; all but the first may be empty when the folder lacks them.
struct HfTokenizerFiles {
  std::string_view tokenizer;          // tokenizer.json
  std::string_view tokenizer_config;   // tokenizer_config.json: BOS, EOS, chat template
  std::string_view special_tokens;     // special_tokens_map.json: names that the one before lacks
  std::string_view generation_config;  // generation_config.json: every id that ends a turn
  std::string_view chat_template;      // chat_template.jinja; goes before the one in the config
  std::string_view model_config;       // config.json or mlc-chat-config.json: ids that end a turn
};

struct HfTokenizer {
  tokenizer::Vocabulary vocabulary;
  std::string chat_template;  // empty when there is none
};

// Errors: kCorrupt for what is no tokenizer.json or contradicts itself, kUnsupported naming the
// part (a normalizer, a pre-tokenizer, a model) that is not known: nothing is passed over.
base::Result<HfTokenizer> read_hf_tokenizer(const HfTokenizerFiles& files);

// Its parts for tokenizers of other files. tokenizer_config.json, an empty object where there is
// none. Errors: kCorrupt for what is no object.
base::Result<base::Json> read_tokenizer_config(const HfTokenizerFiles& files);
// Empty when there is none. Errors: kCorrupt; kUnsupported for several without a default.
base::Result<std::string> read_chat_template(const HfTokenizerFiles& files,
                                             const base::Json& config);

}  // namespace puna::formats
