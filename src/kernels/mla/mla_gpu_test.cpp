// The GPU form of mla.h against its reference, and products by heads.
#include <doctest/doctest.h>

#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul_ref.h"
#include "kernels/mla/mla_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_step.h"
#include "kernels/testing/gpu_weight.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

constexpr test::Features kBoth[] = {test::Features::kAll, test::Features::kBaseline};

void check_append(KvType type, RopePairs pairs, test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  const test::TestStep step({5, 40, 41, 700}, {0, 1, 1, 0});
  MlaShape shape{.n_heads = 3, .n_nope = 24, .n_latent = 96, .norm_eps = 1e-6f};
  shape.rope.pairs = pairs;
  shape.rope.n_rot = 32;
  const auto q = test::normal(size_t{4} * 3 * shape.q_dim(), 1);
  const auto kv = test::normal(size_t{4} * shape.k_dim(), 2);
  const auto gamma = test::normal(shape.n_latent, 3);
  MlaArgs args;
  args.label = "latent";
  args.shape = shape;
  args.step = gpu->upload(step.words());
  args.pages = gpu->upload(step.pages);
  args.q = gpu->upload(q);
  args.kv = gpu->upload(kv);
  args.gamma = gpu->upload(gamma);
  args.table = gpu->upload(rope_table(shape.rope, nullptr));
  args.layout = {type, step.n_pages, 1, shape.k_dim()};
  args.pages_per_sequence = step.pages_per_sequence;
  const std::vector<float> before(size_t{4} * 3 * shape.k_dim(), 7.0f);
  std::vector<std::byte> cache(args.layout.bytes());
  args.q_out = gpu->output(before.size() * 4);
  gpu->write(args.q_out, std::as_bytes(std::span(before)));
  args.k_cache = gpu->output(cache.size());
  gpu->write(args.k_cache, cache);
  std::vector<KernelCall> calls;
  const auto described = mla_append(gpu->info(), args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  CHECK(calls.front().bindings.size() <= 8);
  gpu->run(calls, {.n_tokens = 4});

  std::vector<float> want = before;
  MlaCpuArgs ref;
  ref.shape = shape;
  ref.step = step.cpu();
  ref.q = q.data();
  ref.kv = kv.data();
  ref.gamma = gamma.data();
  ref.q_out = want.data();
  ref.k_cache = cache.data();
  ref.layout = args.layout;
  mla_append_ref(ref);
  CHECK(test::nmse(gpu->read<float>(args.q_out), want) <= 1e-12);
  const auto got = gpu->read<std::byte>(args.k_cache);
  std::vector<float> rows, want_rows;
  for (uint64_t row = 0; row < uint64_t{args.layout.n_pages} * kPageTokens; ++row) {
    for (uint32_t d = 0; d < shape.k_dim(); ++d) {
      rows.push_back(kv_load_ref(args.layout, got.data(), row, d));
      want_rows.push_back(kv_load_ref(args.layout, cache.data(), row, d));
    }
  }
  CHECK(test::nmse(rows, want_rows) <= (type == KvType::kF32    ? 1e-12
                                        : type == KvType::kQ4_0 ? 1e-3
                                                                : 1e-6));
}

TEST_CASE("latent rows are normed, turned and appended on the GPU") {
  for (const test::Features features : kBoth) {
    for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0})
      check_append(type, RopePairs::kAdjacent, features);
    check_append(KvType::kF16, RopePairs::kNeox, features);
  }
}

void check_heads(quant::Type type, uint32_t n_rows, uint32_t max_rows, Numerics numerics,
                 test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  INFO(quant::info(type).name << ", " << n_rows << " rows");
  const uint32_t n_heads = 3, rows = 48, cols = 64, x_stride = 80, y_stride = 56;
  const auto file = quant::random_rows(type, n_heads * rows, cols, 3);
  const auto weight = test::decode_rows(type, file);
  const auto x = test::normal(size_t{n_rows} * n_heads * x_stride, 4);
  MatmulArgs args;
  args.label = "heads";
  args.weight = test::upload_weight(*gpu, type, n_heads * rows, cols, file);
  args.step = gpu->step(n_rows);
  args.x = gpu->upload(x);
  args.x_stride = x_stride;
  std::vector<float> want(size_t{n_rows} * n_heads * y_stride, 7.0f);
  args.y = gpu->output(want.size() * 4);
  gpu->write(args.y, std::as_bytes(std::span(want)));
  args.y_stride = y_stride;
  args.parts = MatmulParts{.n_parts = n_heads, .n_slots = n_heads, .x_of_pairs = true};
  args.numerics = numerics;
  args.max_rows = max_rows;
  args.scratch = gpu->output(std::max<uint64_t>(4, matmul_scratch_bytes(gpu->info(), args)));
  std::vector<KernelCall> calls;
  const auto described = matmul(gpu->info(), args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  gpu->run(calls, {.n_tokens = n_rows});
  for (uint32_t pair = 0; pair < n_rows * n_heads; ++pair) {
    MatmulRefArgs ref;
    ref.weight = weight.data() + size_t{pair % n_heads} * rows * cols;
    ref.rows = rows;
    ref.cols = cols;
    ref.x = x.data() + size_t{pair} * x_stride;
    ref.y = want.data() + size_t{pair} * y_stride;
    ref.n_rows = 1;
    ref.y_stride = y_stride;
    matmul_ref(ref);
  }
  CHECK(test::nmse(gpu->read<float>(args.y), want) <=
        (numerics == Numerics::kExact ? 1e-10 : 2e-3));
}

TEST_CASE("products by heads on the GPU take each head's own matrix and part of x") {
  for (const uint32_t n_rows : {1u, 5u, 40u}) {
    const uint32_t max_rows = n_rows == 1 ? 1 : n_rows <= 8 ? 8 : 512;
    check_heads(quant::Type::kF32, n_rows, max_rows, Numerics::kExact, test::Features::kBaseline);
    check_heads(quant::Type::kQ8_0, n_rows, max_rows, Numerics::kExact, test::Features::kAll);
    check_heads(quant::Type::kQ8_0, n_rows, max_rows, Numerics::kFast, test::Features::kAll);
    check_heads(quant::Type::kQ4_0, n_rows, max_rows, Numerics::kFast, test::Features::kBaseline);
  }
}

}  // namespace
}  // namespace puna::kernels
