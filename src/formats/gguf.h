// GGUF versions 2 and 3, little-endian. Parsing is a pure function of the file's first bytes;
// load_gguf drives it over a source. Source: the GGUF specification (ggml-org/ggml, docs/gguf.md).
// Read next: gguf_cursor.h (bounds), gguf_vocabulary.h, gguf_writer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "formats/folder.h"
#include "formats/model_file.h"
#include "io/byte_source.h"

namespace puna::formats {

// ids of metadata value types.
enum class GgufValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
inline constexpr uint32_t kGgufDefaultAlignment = 32;
// A header beyond this is refused: the largest known are 20 MB.
inline constexpr uint64_t kGgufMaxHeaderBytes = uint64_t{512} << 20;

// Everything before the tensor data.
struct GgufHeader {
  uint32_t version = 0;
  uint64_t alignment = kGgufDefaultAlignment;
  uint64_t data_offset = 0;  // where the tensor data begins
  std::vector<std::pair<std::string, Value>> metadata;
  std::vector<Extent> stored_metadata;  // see ModelFile
  std::vector<Tensor> tensors;          // offsets count from the start of the file; in file order
};

// The prefix is too short; with this many bytes the parser gets further (not necessarily to the
// end).
struct GgufNeedMore {
  uint64_t prefix_bytes;
};

// Reads the header of a file of `file_bytes` bytes from its first bytes. Nothing is allocated for a
// count or length that the prefix does not hold (values grow at most eightfold, an i8 becoming an
// int64_t), and every tensor is checked to lie inside the file, aligned, apart from the others,
// under a name of its own. A prefix of the whole file never needs more. Errors: kCorrupt and
// kUnsupported, with key or tensor and byte offset.
base::Result<std::variant<GgufNeedMore, GgufHeader>> parse_gguf(std::span<const std::byte> prefix,
                                                                uint64_t file_bytes);

// True when the bytes begin a GGUF file, of either byte order.
bool is_gguf(std::span<const std::byte> first_bytes);

// Reads the header of `source`, and where it is part of a split file those of all its parts through
// `open_part` (null: kUnsupported).
base::Task<base::Result<ModelFile>> load_gguf(std::unique_ptr<io::ByteSource> source,
                                              OpenPart open_part);

}  // namespace puna::formats
