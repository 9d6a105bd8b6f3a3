// Writes a model again with other weight types: the core of `puna quantize`.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "formats/model_file.h"
#include "io/byte_sink.h"
#include "quant/mix.h"

namespace puna::formats {

struct QuantizeOptions {
  // None: every tensor keeps its type, but for MLC's q4f16_1, which GGUF has not and which becomes
  // q4_0 of the same values.
  const quant::Mix* mix = nullptr;
  bool pure =
      false;  // the mix's base type for every matrix, no exceptions for the head and the like
};

struct QuantizeProgress {
  std::string_view tensor;
  quant::Type from, to;
  uint64_t done_bytes, total_bytes;  // of the input
};
// Called before each tensor and as its bytes go; false stops with kCancelled.
using OnQuantizeProgress = std::function<bool(const QuantizeProgress&)>;

// The type each tensor of the model gets, in the order of model.tensors.
std::vector<quant::Type> quantized_types(const ModelFile& model, const QuantizeOptions& options);

// Reads `model` tensor by tensor in pieces of about a million elements, so memory stays small
// whatever the model, and writes a GGUF 3 file. Tensors that keep their type are copied. Errors:
// kIo, kCancelled; kUnsupported when the mix's type has no encoder, or GGUF has not the type that a
// tensor keeps.
base::Task<base::Result<void>> quantize(ModelFile& model, QuantizeOptions options,
                                        io::ByteSink& out, base::ThreadPool& pool,
                                        OnQuantizeProgress on_progress = nullptr);

}  // namespace puna::formats
