// Models as MLC has them: mlc-chat-config.json, tensor-cache.json (ndarray-cache.json before) that
// says where each tensor lies in which shard, and the shards; in q4f16_1, q4f32_1, q0f16 or q0f32.
// Names and keys become Hugging Face's, codes and scales blocks of src/quant/q4f16_1.h; values are
// never encoded anew. Read next: hf_folder.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/folder.h"
#include "formats/hf/config.h"
#include "formats/raw_tensor.h"

namespace puna::formats {

// `chat_config` is the text of mlc-chat-config.json. Errors: kNotFound naming a missing file or
// tensor; kCorrupt naming tensor or shard; kUnsupported naming model type or quantization.
base::Task<base::Result<ModelFile>> load_mlc(const ModelFolder& folder, std::string chat_config);

struct MlcShard {
  std::string file;
  uint64_t bytes;
};
struct MlcIndex {
  std::vector<MlcShard> shards;
  std::vector<RawTensor> tensors;  // source: position in shards
};
// Every tensor lies in its shard, by the lengths that the index gives, and is as long as shape and
// type say. Errors: kCorrupt.
base::Result<MlcIndex> parse_mlc_index(std::string_view json);

// The keys of mlc-chat-config.json as config.json has them. Errors: kCorrupt, kUnsupported.
base::Result<hf::Config> parse_mlc_config(std::string_view json);

}  // namespace puna::formats
