// Writes float32 arrays in NumPy's .npy format, version 1.0 (NumPy Enhancement Proposal 1).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "io/byte_sink.h"

namespace puna::cli {

// Errors: those of the sink, which is finished.
base::Result<void> write_npy(io::ByteSink& out, std::span<const float> values,
                             std::span<const uint64_t> shape);

}  // namespace puna::cli
