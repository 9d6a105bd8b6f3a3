// Which tokens begin and end a text, as the files beside tokenizer.json say it.
#pragma once

#include "base/json.h"
#include "formats/hf_tokenizer.h"

namespace puna::formats::hf {

// Fills BOS, EOS, padding, their flags and end_tokens. What the post-processor puts around text
// stays; every other token that ends a text by any of the files ends a turn too. What a file says
// wrongly (a token or id that is not in the vocabulary, no JSON at all) is passed over, all of it
// with one warning. `config` is the parsed tokenizer_config.json.
void read_special_tokens(const HfTokenizerFiles& files, const base::Json& config,
                         tokenizer::Vocabulary& vocabulary);

}  // namespace puna::formats::hf
