#include "formats/hf_tokenizer.h"

namespace puna::formats {

base::Result<HfTokenizer> read_hf_tokenizer(const HfTokenizerFiles&) {
  return base::fail(base::ErrorCode::kUnsupported,
                    "Reading a tokenizer.json is not supported yet.");
}

}  // namespace puna::formats
