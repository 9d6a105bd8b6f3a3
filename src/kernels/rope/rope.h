// What happens between the QKV product and attention, in one pass over the rows:
//   q = rope(head_norm(q) ) -> q_out;   k = rope(head_norm(k)) -> K cache;   v -> V cache
//   qkv    [n_tokens, (n_heads + 2 * n_kv_heads) * head_dim]  f32, q heads, then k heads, then v
//   heads q_out  [n_tokens, n_heads * head_dim]                     f32
// head_norm is an RMS norm of each head with gamma [head_dim], when given.
// rope turns pairs (i, i + n_rot/2) (kNeox) or (2i, 2i+1) (kAdjacent) by position *
// base^(-2i/n_rot) * freq_scale / freq_factor[i]; elements from n_rot on pass through. Angles are
// computed so that the result is right to 1e-7 NMSE at position 100,000. Source: RoFormer,
// section 3.4.2; per-frequency factors as in GGUF's rope_freqs.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/step.h"

namespace puna::kernels {

enum class RopePairs : uint8_t { kNeox, kAdjacent };

struct RopeParams {
  RopePairs pairs = RopePairs::kNeox;
  uint32_t n_rot = 0;  // even, at most head_dim; 0 = no rotation
  float base = 10000.0f;
  float freq_scale = 1.0f;  // linear scaling: 1 / factor
};

// The constants the GPU kernel turns positions with: for each pair i its turns per position, modulo
// one turn, as a binary fraction of 64 bits; word 2i holds the upper 32 bits, word 2i + 1 the
// lower. A position is then multiplied exactly in integers, and whole turns fall out by themselves,
// however far the position. freq_factors [n_rot / 2] may be null.
std::vector<uint32_t> rope_table(const RopeParams& rope, const float* freq_factors);

struct RopeArgs {
  std::string label;
  Slice step = {};
  Slice pages = {};
  Slice qkv = {};
  std::optional<Slice> head_norms = {};  // [2, head_dim] f32: gamma of the q heads, then of the k
                                         // heads (one slice, to stay at 8 bindings)
  std::optional<Slice> table =
      {};  // of rope_table(), given when n_rot > 0; one for all layers of equal RopeParams
  Slice q_out = {};
  Slice k_cache = {}, v_cache = {};
  KvLayout kv = {};
  uint32_t n_heads = 0;
  uint32_t pages_per_sequence = 0;
  float norm_eps = 1e-6f;
  RopeParams rope = {};
};
// Errors: kUnsupported when n_rot is odd or head_dim does not suit the KV type.
base::Result<void> rope_append(const gpu::DeviceInfo& device, const RopeArgs& args,
                               std::vector<KernelCall>& out);

struct RopeCpuArgs {
  CpuStep step;
  const float* qkv = nullptr;
  const float* q_norm = nullptr;  // null = none
  const float* k_norm = nullptr;
  const float* freq_factors = nullptr;
  float* q_out = nullptr;
  std::byte* k_cache = nullptr;
  std::byte* v_cache = nullptr;
  KvLayout kv;
  uint32_t n_heads = 0;
  float norm_eps = 1e-6f;
  RopeParams rope;
};
void rope_append_cpu(base::ThreadPool& pool, const RopeCpuArgs& args);

}  // namespace puna::kernels
