// Writes float32 arrays in NumPy's .npy format, version 1.0 (NumPy Enhancement Proposal 1).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace puna::cli {

// Errors: kIo naming the path.
base::Result<void> write_npy(const std::string& path, std::span<const float> values,
                             std::span<const uint64_t> shape);

}  // namespace puna::cli
