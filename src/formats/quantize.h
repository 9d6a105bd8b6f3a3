// Writes a model again with other weight types: the core of `puna quantize` and `puna convert`.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "formats/model_file.h"
#include "formats/quantize_plan.h"
#include "io/byte_sink.h"

namespace puna::formats {

struct QuantizeProgress {
  std::string_view tensor;
  uint64_t done_bytes, total_bytes;  // of the input
};
// Called before each tensor and as its bytes go; false stops with kCancelled.
using OnQuantizeProgress = std::function<bool(const QuantizeProgress&)>;

// Reads `model` tensor by tensor in pieces of about a million elements, so memory stays small
// whatever the model, and writes a GGUF 3 file: tensors as plan_tensors has them, metadata as
// gguf_pairs, with general.file_type and general.quantization_version of the new file. Tensors that
// keep their type are copied. Errors: kIo, kCancelled; kCorrupt for a weight that is not finite,
// naming the tensor and the place; kUnsupported when the mix's type has no encoder, GGUF has not
// the type that a tensor keeps, or a weight is too large for its new type.
base::Task<base::Result<void>> quantize(ModelFile& model, QuantizeOptions options,
                                        io::ByteSink& out, base::ThreadPool& pool,
                                        OnQuantizeProgress on_progress = nullptr);

}  // namespace puna::formats
