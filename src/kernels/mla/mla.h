// What happens between the projections and attention over a compressed cache (multi-head latent
// attention, DeepSeek-V2, 2024, section 2.1): all heads share one key row, whose first n_latent
// elements are also its value.
//   K cache row = rms_norm(kv[.. n_latent]) * gamma, then rope(kv[n_latent ..])
//   q_out of head h, from element n_latent on = rope(q of head h, from element n_nope on)
//   q      [n_tokens, n_heads * (n_nope + n_rot)]    f32
//   kv     [n_tokens, n_latent + n_rot]              f32
//   q_out  [n_tokens, n_heads * (n_latent + n_rot)]  f32; the first n_latent elements of each head
//          are left alone: there lies q's other part times the head's key matrix (by MatmulParts)
// The cache has one KV head of n_latent + n_rot elements and no V.
#pragma once

#include <vector>

#include "kernels/rope/rope.h"

namespace puna::kernels {

struct MlaShape {
  uint32_t n_heads = 0;
  uint32_t n_nope = 0;    // elements of a head of q that are not turned
  uint32_t n_latent = 0;  // a multiple of 4, as n_rot
  float norm_eps = 1e-6f;
  RopeParams rope = {};  // of n_rot elements
  uint32_t q_dim() const { return n_nope + rope.n_rot; }
  uint32_t k_dim() const { return n_latent + rope.n_rot; }
};

struct MlaArgs {
  std::string label;
  MlaShape shape;
  Slice step = {};
  Slice pages = {};
  Slice q = {};
  Slice kv = {};
  Slice gamma = {};  // [n_latent] f32
  Slice table = {};  // of rope_table()
  Slice q_out = {};
  Slice k_cache = {};
  KvLayout layout = {};
  uint32_t pages_per_sequence = 0;
};
// Errors: kUnsupported when the sizes do not suit the KV type or the device.
base::Result<void> mla_append(const gpu::DeviceInfo& device, const MlaArgs& args,
                              std::vector<KernelCall>& out);

struct MlaCpuArgs {
  MlaShape shape;
  CpuStep step;
  const float* q = nullptr;
  const float* kv = nullptr;
  const float* gamma = nullptr;
  const float* freq_factors = nullptr;  // [n_rot / 2], null = none
  float* q_out = nullptr;
  std::byte* k_cache = nullptr;
  KvLayout layout;
};
void mla_append_cpu(base::ThreadPool& pool, const MlaCpuArgs& args);

}  // namespace puna::kernels
