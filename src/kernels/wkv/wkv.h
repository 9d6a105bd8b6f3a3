// The recurrence of RWKV over the rows of a step: of each head a state S [head_dim, head_dim] whose
// rows belong to values and whose columns to keys. For each token, with r, k, w and a of the head's
// columns:
//   kSix    d = exp(-exp(decay + w))
//           y = S r + (sum of bonus * r * k) v
//           S = S diag(d) + v k^T
//   kSeven  d = exp(-exp(-0.5) * sigmoid(decay + w)),  rate = sigmoid(rate_bias + a)
//           u = k * removal, over its length,  k' = k * (1 + (rate - 1) * key_rate)
//           S = S diag(d) - (S u) (rate * u)^T + v k'^T
//           y = S r,  extra = (sum of bonus * r * k') v
// v is `values`; where the shape `mixes_values`, it is own + (values - own) * sigmoid(value_bias +
// s), own and s being further columns.
//   in         [n_tokens, in_stride]  f32: r, k, w, for kSeven then a, and where values are mixed
//              then own and s; n columns each
//   values     [n_tokens, n]          f32
//   constants  decay, bonus, for kSeven then rate_bias, removal and key_rate, and where values are
//              mixed then value_bias; [n] each, one after the other   f32
//   state      [n_sequences, n_heads, head_dim, head_dim]  f32; state.h
//   y          [n_tokens, n]          f32
//   extra      [n_tokens, n]          f32, for kSeven, which adds it behind a norm of y
// Sources: Peng et al. 2024 (Eagle and Finch, arXiv 2404.05892), section 4.2, kSix; Peng et al.
// 2025 (RWKV-7, arXiv 2503.14456), section 4.1, kSeven.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

enum class WkvRule : uint8_t { kSix, kSeven };

constexpr uint32_t kMaxWkvHeadDim = 256;

struct WkvShape {
  WkvRule rule = WkvRule::kSeven;
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;      // a multiple of 4, up to kMaxWkvHeadDim
  uint32_t in_stride = 0;     // a multiple of 4
  bool mixes_values = false;  // of kSeven
  uint32_t n() const { return n_heads * head_dim; }
  // Parts of n columns of `in` that are read, and constants.
  uint32_t n_parts() const { return rule == WkvRule::kSix ? 3 : mixes_values ? 6 : 4; }
  uint32_t n_constants() const { return rule == WkvRule::kSix ? 2 : mixes_values ? 6 : 5; }
  uint64_t state_floats() const { return uint64_t{n()} * head_dim; }
};

// A length below this counts as this.
constexpr float kWkvLeastLength = 1e-12f;
// exp(-0.5): a decay is never below exp(-exp(-0.5)), about 0.545.
constexpr float kWkvMostDecay = 0.60653066f;

struct WkvArgs {
  std::string label;
  Slice step = {}, in = {}, values = {}, constants = {}, state = {}, y = {};
  std::optional<Slice> extra = {};
  WkvShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// Errors: kUnsupported for a shape outside what WkvShape states.
base::Result<void> wkv(const gpu::DeviceInfo& device, const WkvArgs& args,
                       std::vector<KernelCall>& out);

struct WkvCpuArgs {
  CpuStep step;
  const float* in = nullptr;
  const float* values = nullptr;
  std::array<const float*, 6> constants = {};
  float* state = nullptr;
  float* y = nullptr;
  float* extra = nullptr;
  WkvShape shape;
};
void wkv_cpu(base::ThreadPool& pool, const WkvCpuArgs& args);

}  // namespace puna::kernels
