// The token shift of RWKV: each row mixed with the one before it, element by element, with state:
//   y[t, c] = x[t, c] + (before[t, c] - x[t, c]) * (mix[mix_column + c] + by[t, by_column + c])
// where `before` is the row before t of its run; of a run's first row it is what the state holds,
// and 0 at position 0. Several mixes of one x share a state, which all of them read; the one that
// `keeps` is the last of them and leaves the run's last row of x in the state.
//   x      [n_tokens, n]                f32
//   mix    [at least mix_column + n]    f32
//   by     [n_tokens, by_stride]        f32, what the tokens add to the mix; none = 0
//   state  [n_sequences, n]             f32; state.h
//   y      [n_tokens, n]                f32
// Sources: Peng et al. 2024 (Eagle and Finch, arXiv 2404.05892), section 4.2, with `by`; Peng et
// al. 2025 (RWKV-7, arXiv 2503.14456), section 4.1, without.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

struct ShiftShape {
  uint32_t n = 0;           // a multiple of 4, as all columns and strides
  uint32_t mix_column = 0;  // a multiple of n
  uint32_t by_stride = 0;   // 0 = there is no `by`
  uint32_t by_column = 0;
  bool keeps = false;
  uint64_t state_floats() const { return n; }
};

struct ShiftArgs {
  std::string label;
  Slice step = {}, x = {}, mix = {}, state = {}, y = {};
  std::optional<Slice> by = {};
  ShiftShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// Errors: kUnsupported for a shape outside what ShiftShape states.
base::Result<void> shift(const gpu::DeviceInfo& device, const ShiftArgs& args,
                         std::vector<KernelCall>& out);

struct ShiftCpuArgs {
  CpuStep step;
  const float* x = nullptr;
  const float* mix = nullptr;
  const float* by = nullptr;  // null = 0
  float* state = nullptr;
  float* y = nullptr;
  ShiftShape shape;
};
void shift_cpu(base::ThreadPool& pool, const ShiftCpuArgs& args);

}  // namespace puna::kernels
