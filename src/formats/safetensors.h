// safetensors: a length, a JSON header that lists tensors, then their bytes. Source: the format's
// description in the safetensors repository. Read next: hf_folder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "formats/raw_tensor.h"

namespace puna::formats {

// A longer header is refused, as the format says.
inline constexpr uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;
inline constexpr uint64_t kSafetensorsLengthBytes = 8;

// The length of the JSON that follows the first 8 bytes, within the file. Errors: kCorrupt.
base::Result<uint64_t> safetensors_header_bytes(std::span<const std::byte> first_bytes,
                                                uint64_t file_bytes);

// The tensors of a file of `file_bytes` bytes by its JSON header, in the order of their offsets,
// which count from the start of the file. Every tensor lies in the file, apart from the others, and
// is as long as shape and type say. Errors: kCorrupt naming the tensor.
base::Result<std::vector<RawTensor>> parse_safetensors(std::string_view header,
                                                       uint64_t file_bytes);

// Both, over a source. Errors: those, and of reading.
base::Task<base::Result<std::vector<RawTensor>>> load_safetensors(io::ByteSource& source);

// The names of the shards that model.safetensors.index.json lists, each once, in order. Errors:
// kCorrupt; also for names that lead out of the folder.
base::Result<std::vector<std::string>> parse_safetensors_index(std::string_view json);

}  // namespace puna::formats
