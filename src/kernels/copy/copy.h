// Copies between strided views of up to six dimensions: y[y_offset + sum_d i_d * y_stride_d] =
// x[x_offset + sum_d i_d * x_stride_d]. What other engines call contiguous, copy, transpose,
// permute, repeat, concatenate, set and pixel shuffle are views of this one: permuted(), repeated()
// and joined() below make them. Elements are words (f32, i32) or halves (f16), and a copy may
// convert. Strides and offsets count elements, dimensions from the outermost to the innermost.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class Element : uint8_t { kWord, kHalf };

constexpr uint32_t kCopyDims = 6;

struct CopyShape {
  std::vector<uint32_t> sizes;      // at most kCopyDims
  std::vector<uint32_t> x_strides;  // 0 repeats
  std::vector<uint32_t> y_strides;
  uint32_t x_offset = 0, y_offset = 0;
  Element x_type = Element::kWord, y_type = Element::kWord;  // words to halves convert from f32
  uint64_t elements() const;
  // One more than the last element that is touched; 0 of an empty copy.
  uint64_t x_end() const;
  uint64_t y_end() const;
};

// y is packed and has dimension axes[d] of the packed x as its d-th.
CopyShape permuted(const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& axes);
// x [outer, n, inner] times times along n: y [outer, times, n, inner].
CopyShape repeated(uint32_t outer, uint32_t n, uint32_t inner, uint32_t times);
// x [outer, n, inner] becomes the part from `first` on of y [outer, n_joined, inner]. One such copy
// for each part concatenates.
CopyShape joined(uint32_t outer, uint32_t n, uint32_t inner, uint32_t first, uint32_t n_joined);

struct CopyArgs {
  std::string label;
  Slice x = {}, y = {};
  CopyShape shape = {};
  // Given: the outermost dimension runs over the rows of a step, sizes[0] at most.
  std::optional<Rows> rows = {};
};
// Errors: kInvalidArgument when the sizes and strides do not belong together; kUnsupported for
// halves of y that do not come in whole words: innermost stride 1, all else even.
base::Result<void> copy(const gpu::DeviceInfo& device, const CopyArgs& args,
                        std::vector<KernelCall>& out);

struct CopyCpuArgs {
  const void* x = nullptr;
  void* y = nullptr;
  CopyShape shape = {};
};
void copy_cpu(base::ThreadPool& pool, const CopyCpuArgs& args);

}  // namespace puna::kernels
