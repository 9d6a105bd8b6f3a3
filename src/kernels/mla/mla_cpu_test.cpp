// The CPU form of mla.h against its reference.
#include <doctest/doctest.h>

#include "kernels/common/test_util.h"
#include "kernels/mla/mla_ref.h"

namespace puna::kernels {
namespace {

TEST_CASE("latent rows are normed, turned and appended on the CPU") {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kNeox}) {
      MlaCpuArgs args;
      args.shape = {.n_heads = 3, .n_nope = 24, .n_latent = 96, .norm_eps = 1e-6f};
      args.shape.rope.pairs = pairs;
      args.shape.rope.n_rot = 32;
      const std::vector<int32_t> positions = {5, 40, 41, 99999};
      const std::vector<uint32_t> sequences = {0, 1, 1, 0};
      const uint32_t per_sequence = 99999 / kPageTokens + 1;
      std::vector<uint32_t> pages(2 * per_sequence);
      for (size_t i = 0; i < positions.size(); ++i)
        pages[sequences[i] * per_sequence + static_cast<uint32_t>(positions[i]) / kPageTokens] =
            positions[i] == 41 ? 1u : static_cast<uint32_t>(i);
      args.step = {4, positions.data(), sequences.data(), pages.data(), per_sequence};
      const auto q = test::normal(size_t{4} * 3 * args.shape.q_dim(), 1);
      const auto kv = test::normal(size_t{4} * args.shape.k_dim(), 2);
      const auto gamma = test::normal(args.shape.n_latent, 3);
      args.q = q.data();
      args.kv = kv.data();
      args.gamma = gamma.data();
      args.layout = {type, 4, 1, args.shape.k_dim()};
      std::vector<float> out(size_t{4} * 3 * args.shape.k_dim(), 7.0f), want = out;
      std::vector<std::byte> cache(args.layout.bytes()), want_cache(args.layout.bytes());
      args.q_out = want.data();
      args.k_cache = want_cache.data();
      mla_append_ref(args);
      args.q_out = out.data();
      args.k_cache = cache.data();
      base::ThreadPool pool(2);
      mla_append_cpu(pool, args);
      CHECK(test::nmse(out, want) <= 1e-12);
      std::vector<float> rows, want_rows;
      for (uint64_t row = 0; row < uint64_t{4} * kPageTokens; ++row) {
        for (uint32_t d = 0; d < args.shape.k_dim(); ++d) {
          rows.push_back(kv_load_ref(args.layout, cache.data(), row, d));
          want_rows.push_back(kv_load_ref(args.layout, want_cache.data(), row, d));
        }
      }
      CHECK(test::nmse(rows, want_rows) <= (type == KvType::kF32    ? 1e-12
                                            : type == KvType::kQ4_0 ? 1e-3
                                                                    : 1e-6));
    }
  }
}

}  // namespace
}  // namespace puna::kernels
