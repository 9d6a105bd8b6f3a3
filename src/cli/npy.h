// Float32 arrays in NumPy's .npy format, version 1.0 (NumPy Enhancement Proposal 1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/byte_sink.h"

namespace puna::cli {

// Errors: those of the sink, which is finished.
base::Result<void> write_npy(io::ByteSink& out, std::span<const float> values,
                             std::span<const uint64_t> shape);

struct NpyArray {
  std::vector<uint64_t> shape;
  std::vector<float> values;
};
// A file of little-endian float32 in C order. Errors: kNotFound, kIo; kCorrupt saying what is no
// such array, or that the file has another size than its shape needs.
base::Result<NpyArray> read_npy(const std::string& path);

}  // namespace puna::cli
