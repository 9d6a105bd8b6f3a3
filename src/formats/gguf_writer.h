// Writes a GGUF 3 file: everything before the tensor data at once, then the tensors one after the
// other as their bytes come.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "io/byte_sink.h"

namespace puna::formats {

class GgufWriter {
 public:
  struct TensorInfo {
    std::string name;
    quant::Type type = quant::Type::kF32;
    std::vector<uint64_t> shape;  // outermost first, rows whole blocks
  };

  // `sink` outlives the writer.
  explicit GgufWriter(io::ByteSink& sink) : sink_(sink) {}

  // Writes metadata, vocabulary and tensor list. Integers take 32 bits where they fit and reals are
  // f32 where exact, the widths that readers expect of the known keys; what only describes the old
  // file (split.*, general.alignment) is left out.
  base::Result<void> begin(std::span<const std::pair<std::string, Value>> metadata,
                           const tokenizer::Vocabulary& vocabulary,
                           std::vector<TensorInfo> tensors);
  // The next bytes of tensor data. A call never crosses from one tensor to the next; padding
  // between them is written here.
  base::Result<void> write(std::span<const std::byte> bytes);
  // Errors: kInvalidArgument when tensor bytes are missing; kIo.
  base::Result<void> finish();

 private:
  io::ByteSink& sink_;
  std::vector<TensorInfo> tensors_;
  size_t current_ = 0;    // tensor being written
  uint64_t written_ = 0;  // bytes of it
};

// Bytes of a tensor in a file.
uint64_t tensor_bytes(const GgufWriter::TensorInfo& tensor);

}  // namespace puna::formats
