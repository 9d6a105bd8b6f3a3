// A precompiled_charsmap as Hugging Face's library applies it: to whole grapheme clusters of less
// than six bytes first, then to single characters, each time the shortest rule that fits. Source:
// the crate spm_precompiled; UAX #29 for the clusters.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/charsmap.h"

namespace puna::tokenizer {

void append_precompiled(const Charsmap& map, std::string_view text, std::string& out);

}  // namespace puna::tokenizer
