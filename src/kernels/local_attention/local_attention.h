// Attention of each row to itself and the few rows right before it, with keys that tell how far
// away a row is, over rows of a step that are no tokens of a sequence. For row t, head h and the
// distance d = 0 .. window - 1, of rows t - d of the same sound:
//   score[d] = cap * tanh(sum_i q[t, h, i] * gamma[i] * (key_scale * k[t - d, h, i]
//                                                        + far[d, h, i]) / cap)
//   y[t, h]  = sum_d softmax(score)[d] * v[t - d, h]
//   q, k, v  [n_rows, n_heads * head_dim]  f32
//   gamma    [head_dim]                    f32, with the scale of scores
//   far      [window, n_heads * head_dim]  f32 (relative_keys())
//   before   [n_rows, before_stride]       f32, of which the first tells how many rows right before
//            this one belong to the same sound
//   y        [n_rows, n_heads * head_dim]  f32
// Sources: Dai et al. 2019 (Transformer-XL, appendix B), Zhang et al. 2023 (USM, section 2.2),
// transformers 5.24 (Gemma4AudioAttention).
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

constexpr uint32_t kMaxLocalWindow = 64;

struct LocalAttentionShape {
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;
  uint32_t window = 0;  // rows that a row sees, itself among them; up to kMaxLocalWindow
  uint32_t before_stride = 1;
  float scale = 1.0f;  // on q
  float key_scale = 1.0f;
  float cap = 1.0f;

  uint32_t width() const { return n_heads * head_dim; }
};

// The keys of distances: of position d the sines of n / 2 frequencies, then their cosines, from 1
// down to 1 / slowest by equal factors, times a matrix.
struct RelativeKeys {
  uint32_t window = 0;
  float slowest = 10000.0f;
  bool operator==(const RelativeKeys&) const = default;
};
// matrix [n_rows, n] -> [window, n_rows]
std::vector<float> relative_keys(const RelativeKeys& keys, uint32_t n_rows, uint32_t n,
                                 const float* matrix);

struct LocalAttentionArgs {
  std::string label;
  Slice q = {}, k = {}, v = {}, gamma = {}, far = {}, before = {}, y = {};
  LocalAttentionShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument for no heads, heads of no elements, a cap of 0 and windows outside 1 ..
// kMaxLocalWindow.
base::Result<void> local_attention(const gpu::DeviceInfo& device, const LocalAttentionArgs& args,
                                   std::vector<KernelCall>& out);

struct LocalAttentionCpuArgs {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* gamma = nullptr;
  const float* far = nullptr;
  const float* before = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  LocalAttentionShape shape = {};
};
void local_attention_cpu(base::ThreadPool& pool, const LocalAttentionCpuArgs& args);

}  // namespace puna::kernels
