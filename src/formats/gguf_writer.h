// Writes a GGUF 3 file: everything before the tensor data at once, then the tensors one after the
// other as their bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/gguf.h"
#include "formats/gguf_pairs.h"
#include "formats/model_file.h"
#include "io/byte_sink.h"

namespace puna::formats {

class GgufWriter {
 public:
  struct TensorInfo {
    std::string name;
    uint32_t type_id = 0;         // as GGUF numbers types
    std::vector<uint64_t> shape;  // outermost first
    uint64_t bytes = 0;           // may be none
  };

  // `sink` outlives the writer; `alignment`, a power of two, is what "general.alignment" says.
  explicit GgufWriter(io::ByteSink& sink, uint64_t alignment = kGgufDefaultAlignment)
      : sink_(sink), alignment_(alignment) {}

  // Writes metadata and tensor list.
  base::Result<void> begin(std::span<const GgufPair> metadata, std::vector<TensorInfo> tensors);
  // The next bytes of tensor data. A call never crosses from one tensor to the next; padding
  // between them is written here.
  base::Result<void> write(std::span<const std::byte> bytes);
  // Errors: kInvalidArgument when tensor bytes are missing; kIo.
  base::Result<void> finish();

 private:
  uint64_t padding(uint64_t position) const {
    return (alignment_ - position % alignment_) % alignment_;
  }
  base::Result<void> pad(uint64_t position);
  void pass_empty();

  io::ByteSink& sink_;
  uint64_t alignment_;
  std::vector<TensorInfo> tensors_;
  size_t current_ = 0;    // tensor being written
  uint64_t written_ = 0;  // bytes of it
};

}  // namespace puna::formats
