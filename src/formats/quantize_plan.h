// Which type each tensor of a model is written as.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/model_file.h"
#include "quant/mix.h"

namespace puna::formats {

struct QuantizeOptions {
  // None: every tensor keeps its type, but for MLC's q4f16_1, which GGUF has not and which becomes
  // q4_0 of the same values.
  const quant::Mix* mix = nullptr;
  bool pure =
      false;  // the mix's base type for every matrix, no exceptions for the head and the like
};

struct TensorPlan {
  quant::Type type;    // what it is written as
  quant::Type wanted;  // another one where its rows are no whole blocks of what the mix has for it
  uint64_t bytes;      // of it in the file that is written
  bool opaque =
      false;  // of a type that is not known: its bytes are copied, and `type` says nothing
};

// A plan for each tensor, in the order of model.tensors. The size of an opaque tensor is not known
// either: it is all up to the next tensor, or to the end of its file, which holds it whole.
std::vector<TensorPlan> plan_tensors(const ModelFile& model, const QuantizeOptions& options);

}  // namespace puna::formats
