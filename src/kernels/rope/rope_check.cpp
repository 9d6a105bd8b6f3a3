// The self-test of rotary embeddings and of what is appended to the cache.
#include <fmt/format.h>

#include "kernels/rope/rope.h"
#include "kernels/rope/rope_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

// The reference of these reads its own rounding of the cache, which may fall on the other side: of
// f16, and of codes of eight and four bits.
constexpr double kCacheStoreLimit = 1e-6;
constexpr double kQ8StoreLimit = 1e-5;
constexpr double kQ4StoreLimit = 1e-3;
constexpr double kTurnLimit = 1e-7;  // sines and cosines of large angles

Result<void> rope_on_gpu(gpu::Device& device, const RopeCpuArgs& args) {
  Workbench bench(device);
  const uint64_t width = uint64_t{args.n_heads} * args.kv.head_dim;
  RopeArgs r;
  r.label = "rope";
  PUNA_TRY(r.step, bench.step(args.step.n_tokens, &args.step));
  PUNA_TRY(r.pages, upload_pages(bench, args.step, args.kv));
  PUNA_TRY(r.qkv, bench.upload(args.qkv, args.step.n_tokens * (width + 2ull * args.kv.n_kv_heads *
                                                                           args.kv.head_dim)));
  if (args.q_norm && args.k_norm) {
    std::vector<float> both(args.q_norm, args.q_norm + args.kv.head_dim);
    both.insert(both.end(), args.k_norm, args.k_norm + args.kv.head_dim);
    PUNA_TRY(r.head_norms, bench.upload(std::span<const float>(both)));
  }
  if (args.rope.n_rot > 0) {
    const auto table = rope_table(args.rope, args.freq_factors);
    PUNA_TRY(r.table, bench.upload(std::span<const uint32_t>(table)));
  }
  PUNA_TRY(r.q_out, bench.output(args.step.n_tokens * width));
  PUNA_TRY(r.k_cache, bench.upload(static_cast<const std::byte*>(args.k_cache), args.kv.bytes()));
  PUNA_TRY(r.v_cache, bench.upload(static_cast<const std::byte*>(args.v_cache), args.kv.bytes()));
  r.kv = args.kv;
  r.n_heads = args.n_heads;
  r.pages_per_sequence = args.step.pages_per_sequence;
  r.norm_eps = args.norm_eps;
  r.rope = args.rope;
  PUNA_TRY(run_rows(bench, kernels::rope_append, r, args.step.n_tokens));
  PUNA_TRY(bench.read(r.q_out, args.q_out, args.step.n_tokens * width));
  PUNA_TRY(bench.read(r.k_cache, args.k_cache, args.kv.bytes()));
  return bench.read(r.v_cache, args.v_cache, args.kv.bytes());
}

Result<void> rope_on(Check& check, const RopeCpuArgs& args) {
  if (check.gpu()) return rope_on_gpu(*check.gpu(), args);
  rope_append_cpu(check.pool(), args);
  return {};
}

Result<void> rope(Check& check, KvType kv_type, RopePairs pairs) {
  if (!check.wanted("rope", name(kv_type))) return {};
  const CheckRows rows({0, 33, 1000, 100000}, {0, 0, 0, 0});
  const uint32_t head_dim = 64, n_heads = 6, n_kv_heads = 2;
  const KvLayout kv{kv_type, static_cast<uint32_t>(rows.pages.size()), n_kv_heads, head_dim};
  const auto qkv = normal(size_t{rows.n()} * (n_heads + 2 * n_kv_heads) * head_dim, 9);
  const auto q_norm = normal(head_dim, 10, 1, 0.2f), k_norm = normal(head_dim, 11, 1, 0.2f);
  std::vector<float> q(size_t{rows.n()} * n_heads * head_dim), expected_q(q.size());
  const auto n_bytes = static_cast<size_t>(kv.bytes());
  std::vector<std::byte> k(n_bytes), v(n_bytes), expected_k(n_bytes), expected_v(n_bytes);
  RopeCpuArgs args;
  args.step = rows.step();
  args.qkv = qkv.data();
  args.q_norm = q_norm.data();
  args.k_norm = k_norm.data();
  args.q_out = q.data();
  args.k_cache = k.data();
  args.v_cache = v.data();
  args.kv = kv;
  args.n_heads = n_heads;
  args.rope = {pairs, head_dim, 500000.0f, 1.0f};
  PUNA_TRY(rope_on(check, args));
  args.q_out = expected_q.data();
  args.k_cache = expected_k.data();
  args.v_cache = expected_v.data();
  rope_append_ref(args);
  // The rows that were appended, decoded.
  std::vector<float> cache, expected_cache;
  for (uint32_t t = 0; t < rows.n(); ++t) {
    const uint32_t position = static_cast<uint32_t>(rows.positions[t]);
    const uint32_t page =
        rows.pages[rows.sequences[t] * rows.pages_per_sequence + position / kPageTokens];
    for (uint32_t h = 0; h < n_kv_heads; ++h) {
      const uint64_t row = kv_row(kv, page, h, position % kPageTokens);
      for (uint32_t d = 0; d < head_dim; ++d) {
        cache.push_back(kv_load_ref(kv, k.data(), row, d));
        cache.push_back(kv_load_ref(kv, v.data(), row, d));
        expected_cache.push_back(kv_load_ref(kv, expected_k.data(), row, d));
        expected_cache.push_back(kv_load_ref(kv, expected_v.data(), row, d));
      }
    }
  }
  const char* shape =
      pairs == RopePairs::kNeox ? "neox, positions to 100000" : "adjacent, positions to 100000";
  PUNA_TRY(check.record("rope", "f32", shape, nmse(q, expected_q), kTurnLimit));
  const double limit = kv_type == KvType::kF32    ? kTurnLimit
                       : kv_type == KvType::kF16  ? kCacheStoreLimit
                       : kv_type == KvType::kQ8_0 ? kQ8StoreLimit
                                                  : kQ4StoreLimit;
  return check.record("kv append", name(kv_type), shape, nmse(cache, expected_cache), limit);
}

}  // namespace

Result<void> check_rope(Check& check) {
  for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent})
      PUNA_TRY(rope(check, kv, pairs));
  }
  return {};
}

}  // namespace puna::kernels
