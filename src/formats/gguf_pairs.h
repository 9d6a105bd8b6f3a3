// Metadata pairs as the bytes of a GGUF file, which is how a model is written again without loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "formats/model_file.h"

namespace puna::formats {

struct GgufPair {
  std::string key;
  std::string value;  // the id of its kind, then the value, as in a file
};

// The pairs of a model, in order: of a GGUF file byte for byte as it has them, of other containers
// its metadata and vocabulary, integers in 32 bits where they fit and reals as f32 where that is
// exact, the widths that readers expect of the known keys. What describes the parts of a split file
// (split.*) is left out. Errors: kIo; kCorrupt when the file is another one by now.
base::Task<base::Result<std::vector<GgufPair>>> gguf_pairs(const ModelFile& model);

// Sets a u32: where the key stands, else at the end.
void set_pair(std::vector<GgufPair>& pairs, std::string_view key, uint32_t value);

}  // namespace puna::formats
