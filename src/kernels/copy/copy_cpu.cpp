// Copies between strided views on the CPU: the outer dimensions by their index, runs that lie
// together by memcpy.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/copy/copy.h"
#include "kernels/copy/copy_ref.h"

namespace puna::kernels {
namespace {

// The run of the innermost dimension that starts at x[from] and y[to].
void copy_run(const CopyCpuArgs& args, uint64_t from, uint64_t to) {
  const CopyShape& s = args.shape;
  const uint32_t n = s.sizes.back(), x_step = s.x_strides.back(), y_step = s.y_strides.back();
  if (s.x_type == s.y_type && x_step == 1 && y_step == 1) {
    const size_t bytes = s.x_type == Element::kHalf ? 2 : 4;
    std::memcpy(static_cast<std::byte*>(args.y) + to * bytes,
                static_cast<const std::byte*>(args.x) + from * bytes, n * bytes);
    return;
  }
  for (uint64_t i = 0; i < n; ++i) copy_element(args, from + i * x_step, to + i * y_step);
}

}  // namespace

void copy_cpu(base::ThreadPool& pool, const CopyCpuArgs& args) {
  const CopyShape& s = args.shape;
  if (s.elements() == 0) return;
  const uint32_t run = s.sizes.back();
  const auto runs = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      uint64_t rest = i, from = s.x_offset, to = s.y_offset;
      for (size_t d = s.sizes.size() - 1; d-- > 0; rest /= s.sizes[d]) {
        from += rest % s.sizes[d] * s.x_strides[d];
        to += rest % s.sizes[d] * s.y_strides[d];
      }
      copy_run(args, from, to);
    }
  };
  pool.run(static_cast<uint32_t>(s.elements() / run), std::max(8192 / run, 1u), std::ref(runs));
}

}  // namespace puna::kernels
