// Attention of each row over its own sequence in the paged KV cache, with the softmax kept online
// (FlashAttention, Dao et al. 2022), split over the KV length for decoding (Flash-Decoding).
//   q    [n_tokens, n_heads * head_dim]  f32
//   out  [n_tokens, n_heads * v_dim]     f32
// Row t of head h reads kv head h / (n_heads / n_kv_heads) at positions p with p <= position[t]
// and, with a window, p > position[t] - window, or with chunks p >= position[t] - position[t] %
// window; with `places` also at as many right before and after it as its RowPlace says, which are
// in the step; when not causal, at all positions up to the last that its sequence has in the step,
// whose rows lie side by side, and with a window p < position[t] + window. Score = scale * q.k,
// then softcap * tanh(score / softcap) when softcap > 0; or, with ALiBi (Press et al. 2022), less
// the head's slope (alibi_slope()) for each position between the row and the key; or, with biases,
// plus the head's bias for the key's position less the row's. A head's sink is one more score
// without a value: it takes part in the softmax only (gpt-oss model card, 2025). Values are the
// first v_dim elements of a V cache row, so that with k_cache as v_cache the values are part of the
// keys (multi-head latent attention, DeepSeek-V2, 2024).
//
// Rows that are no texts attend to each other without a cache (`own`): q then holds queries, keys
// and values of each row, [n_tokens, (n_heads + 2 * n_kv_heads) * head_dim] f32, and a row sees the
// rows of its span, spans [n_tokens, 2] u32 (first, end); without spans it sees all of the step.
#pragma once

#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/step.h"
#include "kernels/rope/rope.h"

namespace puna::kernels {

// The slopes of heads fall from 2^(-max_bias / n) by that factor, n being the largest power of two
// up to n_heads; further heads have the slopes halfway between (in powers), from the steepest on.
inline float alibi_slope(float max_bias, uint32_t n_heads, uint32_t head) {
  const uint32_t n = std::bit_floor(n_heads);
  const float step = max_bias / static_cast<float>(n);
  const float power = head < n ? static_cast<float>(head + 1) * step
                               : static_cast<float>(2 * (head - n) + 1) * step / 2;
  return std::exp2(-power);
}

// The raw q, k and v of a step of one row, before head norms, rotation and append (rope/rope.h).
struct AttentionAppend {
  Slice qkv = {};                        // [(n_heads + 2 n_kv_heads) * head_dim] f32
  std::optional<Slice> head_norms = {};  // as RopeArgs
  std::optional<Slice> table = {};
  bool v_norm = false;
  float norm_eps = 1e-6f;
  RopeParams rope = {};
};

struct Profile;

struct AttentionArgs {
  std::string label;
  Slice step = {};
  Slice pages = {};
  Slice q = {};
  // Instead of q, and of rope_append() before; only where attention_appends() says so.
  std::optional<AttentionAppend> append = {};
  // Not causal, without a window; the layout of the cache has its heads and is f32.
  bool own = false;
  std::optional<Slice> spans = {};  // of own keys; rows of one span lie side by side
  Slice k_cache = {}, v_cache = {};
  Slice out = {};
  // out is left as the int8 that the product after it takes (matmul_takes() of matmul.h), of
  // matmul_handover_bytes(); only where attention_hands() says so.
  bool hands_bytes = false;
  Slice scratch = {};  // of attention_scratch_bytes()
  KvLayout kv = {};
  uint32_t n_heads = 0;
  uint32_t v_dim = 0;  // 0 = head_dim; a multiple of 8 where head_dim is one, else of 4
  uint32_t pages_per_sequence = 0;
  std::optional<Slice> sinks = {};  // [n_heads] f32
  bool causal = true;               // false: without chunks
  bool places = false;              // rows attend to those around them that the step says; causal
  float scale = 1.0f;
  float softcap = 0.0f;         // 0 = none
  float max_alibi_bias = 0.0f;  // 0 = no ALiBi; not with softcap, own or places
  // Biases by distance, [n_heads, 2 * bias_reach + 1] f32 from -bias_reach on (relative.h); keys
  // further away have that of the furthest. Not with sinks, softcap, ALiBi, own or places.
  std::optional<Slice> biases = {};
  uint32_t bias_reach = 0;
  uint32_t window = 0;    // 0 = none
  bool chunks = false;    // the window begins anew every so many positions, instead of moving along
  uint32_t max_rows = 1;  // rows of the batch class
  bool prompts = false;   // a class of prompts, whose rows share keys, however few they are
  // In a class of prompts: up to so many first rows of a step are taken as in a decode
  // (StepShape::n_singles), instead of one after the other by the workgroup of their tile. Without
  // `causal` none are.
  uint32_t max_singles = 0;
  Numerics numerics = Numerics::kExact;  // fast: f16 operands of matrix units allowed
  const Profile* profile = nullptr;      // of the device (profile/profile.h)
};
// Splits of one step: what goes into StepShape::n_splits and the words kStepSplitCount and
// kStepSplitTokens. Every row divides its own KV length evenly over the splits, none shorter than
// split_tokens, so a chain of steps may run on past the n_kv it was made for.
struct AttentionSplits {
  uint32_t n_splits = 1;
  uint32_t split_tokens = kPageTokens;
};
// KV tokens that are worth a workgroup of their own, and up to how many there is one split: a
// combine would cost more than it saves (H100, an 8B in q4_0, 48 tokens behind 320 and behind 448
// keys: 421 and 411 tokens/s as one split, 413 and 411 in several). sample/advance.wgsl counts
// splits by the same rule.
constexpr uint32_t kSplitTokens = 64;
constexpr uint32_t kWholeTokens = 448;
// For rows that see at most n_kv positions; max_splits of attention_max_splits().
AttentionSplits attention_splits(uint32_t max_splits, uint32_t n_kv);
// The most splits that rows of a decode and singles may use (n_splits in StepShape stays at or
// below it; 1 for prefill classes without singles).
uint32_t attention_max_splits(const gpu::DeviceInfo& device, const AttentionArgs& args);
// The most singles of a step (StepShape::n_singles).
uint32_t attention_max_singles(const AttentionArgs& args);
// Whether attention of these arguments has an args.append and can do that work of a rope_append()
// before it (the slices may be empty).
bool attention_appends(const gpu::DeviceInfo& device, const AttentionArgs& args);
// Whether attention of these arguments can leave its result as int8 (the slices may be empty).
bool attention_hands(const gpu::DeviceInfo& device, const AttentionArgs& args);
uint64_t attention_scratch_bytes(const gpu::DeviceInfo& device, const AttentionArgs& args);
base::Result<void> attention(const gpu::DeviceInfo& device, const AttentionArgs& args,
                             std::vector<KernelCall>& out);

struct AttentionCpuArgs {
  CpuStep step;
  const float* q = nullptr;
  bool own = false;
  const uint32_t* spans = nullptr;  // of own keys; null = all rows
  const std::byte* k_cache = nullptr;
  const std::byte* v_cache = nullptr;
  float* out = nullptr;
  KvLayout kv;
  uint32_t n_heads = 0;
  uint32_t v_dim = 0;            // 0 = head_dim
  const float* sinks = nullptr;  // null = none
  bool causal = true;
  float scale = 1.0f;
  float softcap = 0.0f;
  float max_alibi_bias = 0.0f;    // 0 = no ALiBi; not with softcap, own or step.places
  const float* biases = nullptr;  // as in AttentionArgs; null = none
  uint32_t bias_reach = 0;
  uint32_t window = 0;
  bool chunks = false;
  std::byte* scratch = nullptr;  // attention_cpu_scratch_bytes(), 64-byte aligned
  // With step.places rows attend to those around them that these say.
  // Exact: a row's result does not depend on the rows beside it, nor on the number of threads.
  Numerics numerics = Numerics::kFast;
};
uint64_t attention_cpu_scratch_bytes(int n_threads, uint32_t n_heads, uint32_t head_dim,
                                     uint32_t max_rows);
void attention_cpu(base::ThreadPool& pool, const AttentionCpuArgs& args);

}  // namespace puna::kernels
