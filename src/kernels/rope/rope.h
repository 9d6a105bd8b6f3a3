// What happens between the QKV product and attention, in one pass over the rows:
//   q = rope(head_norm(q) ) -> q_out;   k = rope(head_norm(k)) -> K cache;   v -> V cache
//   qkv    [n_tokens, (n_heads + 2 * n_kv_heads) * head_dim]  f32, q heads, then k heads, then v
//   heads q_out  [n_tokens, n_heads * head_dim]                     f32
// head_norm is an RMS norm of each head with gamma [head_dim], when given, with norms_last after
// rope instead of before; v heads may be normed too, without gamma. Without caches qkv holds q
// heads only, for layers that read another's keys. rope turns pairs (i, i + n_rot/2) (kNeox) or
// (2i, 2i+1) (kAdjacent) by position * rope_frequency(i), with sections by the position and what
// the RowPlace adds, and multiplies them by `magnitude`; elements from n_rot on pass through.
// Angles are computed so that the result is right to 1e-7 NMSE at position 100,000. At last q may
// grow with the position (Temperature). Source: RoFormer, section 3.4.2; per-frequency factors as
// in GGUF's rope_freqs.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/step.h"

namespace puna::kernels {

enum class RopePairs : uint8_t { kNeox, kAdjacent };

// Which frequencies freq_scale applies to (YaRN, Peng et al. 2023, section 3.2): in full to pairs
// that turn fewer than beta_slow times over the original context, to those that turn more than
// beta_fast times not at all, and along a ramp over the pairs between.
struct Yarn {
  uint32_t original_context = 0;  // 0 = freq_scale applies to all
  float beta_fast = 32.0f;
  float beta_slow = 1.0f;
  bool truncate = true;  // the ramp begins and ends at whole pairs
  bool operator==(const Yarn&) const = default;
};

// q is multiplied by 1 + beta * ln(1 + floor((position + offset) / period)) (Llama 4, which counts
// from 1, and Ministral 3, from 0; to keep the softmax of long texts sharp).
struct Temperature {
  float beta = 0.0f;  // 0 = none
  uint32_t period = 1;
  uint32_t offset = 0;
  bool operator==(const Temperature&) const = default;
};

// Which coordinate of its row's RowPlace a pair is turned by (multi-section rope: Qwen2-VL, Wang et
// al. 2024, section 2.1; kByThrees: Qwen3-VL's technical report). The sections' sizes are in pairs.
constexpr uint32_t kSections = 4;
enum class SectionOrder : uint8_t {
  kInTurn,    // the first pairs to the first section, and so on
  kByThrees,  // height, width at 3k + 1 and 3k + 2, k below their sizes; time everywhere else
  // Of mrope/mrope.h alone:
  kRestart,  // kInTurn, each section with the frequencies of a rope of its own
  kDealt,    // kInTurn, the frequencies of one rope dealt out: pair k of section s of n has that of
             // pair n k + s. Sections of one size.
};
struct RopeSections {
  std::array<uint32_t, kSections> sizes = {};  // time, height, width and one more
  SectionOrder order = SectionOrder::kInTurn;
  bool any() const { return *this != RopeSections(); }
  uint32_t of(uint32_t pair) const;  // 0 to 3
  bool operator==(const RopeSections&) const = default;
};

struct RopeParams {
  RopePairs pairs = RopePairs::kNeox;
  uint32_t n_rot = 0;  // even, at most head_dim; 0 = no rotation
  float base = 10000.0f;
  float freq_scale = 1.0f;  // 1 / the factor that the context is stretched by
  Yarn yarn = {};
  float magnitude = 1.0f;
  Temperature temperature = {};
  // None: rows turn by their positions alone. Together n_rot / 2 pairs, none in the fourth.
  RopeSections sections = {};
  // Head norms, where there are any, come after the turn (HunYuan); then magnitude is 1.
  bool norms_last = false;
  bool operator==(const RopeParams&) const = default;
};

// Radians a position of pair i: base^(-2i/n_rot), scaled, over its factor. freq_factors [n_rot / 2]
// may be null.
double rope_frequency(const RopeParams& rope, const float* freq_factors, uint32_t i);

// A frequency as GPU kernels turn positions with it: turns per position, modulo one turn, as a
// binary fraction of 64 bits. A position is then multiplied exactly in integers, and whole turns
// fall out by themselves, however far the position. Infinite and NaN frequencies turn nothing.
struct TurnWords {
  uint32_t upper = 0, lower = 0;
};
TurnWords turn_words(double frequency);

// The turns of each pair i: upper words at 2i, lower ones at 2i + 1. freq_factors [n_rot / 2] may
// be null.
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
  bool v_norm = false;  // only with head_norms
  bool appends = true;  // false: q heads only, and no caches
  Slice q_out = {};
  Slice k_cache = {}, v_cache = {};
  KvLayout kv = {};
  uint32_t n_heads = 0;
  uint32_t pages_per_sequence = 0;
  float norm_eps = 1e-6f;
  RopeParams rope = {};
};
// Errors: kUnsupported when n_rot is odd, head_dim does not suit the KV type, sections are not
// n_rot / 2 pairs of three coordinates, or norms after the turn meet a magnitude.
base::Result<void> rope_append(const gpu::DeviceInfo& device, const RopeArgs& args,
                               std::vector<KernelCall>& out);

struct RopeCpuArgs {
  CpuStep step;
  const float* qkv = nullptr;
  const float* q_norm = nullptr;  // null = none
  const float* k_norm = nullptr;
  bool v_norm = false;
  const float* freq_factors = nullptr;
  float* q_out = nullptr;
  std::byte* k_cache = nullptr;  // null: qkv holds q heads only
  std::byte* v_cache = nullptr;
  KvLayout kv;
  uint32_t n_heads = 0;
  float norm_eps = 1e-6f;
  RopeParams rope;
};
void rope_append_cpu(base::ThreadPool& pool, const RopeCpuArgs& args);

}  // namespace puna::kernels
