// The references against cases small enough to check by hand: every other kernel test leans on
// them.
#include <cstring>
#include <vector>

#include "doctest/doctest.h"
#include "kernels/attention/attention_ref.h"
#include "kernels/embed/embed_ref.h"
#include "kernels/gather/gather_ref.h"
#include "kernels/matmul/matmul_ref.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/rope/rope_ref.h"
#include "kernels/sample/sample_ref.h"

namespace puna::kernels {
namespace {

using doctest::Approx;

TEST_CASE("rms_norm_ref divides by the root of the mean square and keeps the residual sum") {
  const std::vector<float> x = {3, 4};  // mean square 12.5
  const std::vector<float> gamma = {1, 2};
  std::vector<float> y(2);
  rms_norm_ref(
      {.x = x.data(), .gamma = gamma.data(), .y = y.data(), .n_rows = 1, .n = 2, .eps = 0});
  CHECK(y[0] == Approx(0.848528));
  CHECK(y[1] == Approx(2.262742));

  std::vector<float> residual = {1, -4};  // r = (4, 0), mean square 8
  rms_norm_ref({.x = x.data(),
                .residual = residual.data(),
                .gamma = gamma.data(),
                .y = y.data(),
                .n_rows = 1,
                .n = 2,
                .eps = 0});
  CHECK(residual == std::vector<float>{4, 0});
  CHECK(y[0] == Approx(1.414214));
  CHECK(y[1] == 0.0f);

  residual = {1, 1};
  const std::vector<float> post = {5, 0};
  rms_norm_ref({.x = x.data(),
                .post_gamma = post.data(),
                .residual = residual.data(),
                .n_rows = 1,
                .n = 2,
                .eps = 0});
  CHECK(residual[0] == Approx(1 + 5 * 0.848528));
  CHECK(residual[1] == 1.0f);
}

TEST_CASE("rope_row_ref turns both kinds of pairs and leaves the rest alone") {
  const RopeParams neox{.pairs = RopePairs::kNeox, .n_rot = 4, .base = 100.0f};
  std::vector<double> v = {1, 0, 0, 1, 7};
  rope_row_ref(v, neox, nullptr, 2);  // pairs (0, 2) by angle 2, (1, 3) by 2 * 100^(-1/2) = 0.2
  CHECK(v[0] == Approx(std::cos(2.0)));
  CHECK(v[2] == Approx(std::sin(2.0)));
  CHECK(v[1] == Approx(-std::sin(0.2)));
  CHECK(v[3] == Approx(std::cos(0.2)));
  CHECK(v[4] == 7.0);

  const RopeParams adjacent{
      .pairs = RopePairs::kAdjacent, .n_rot = 4, .base = 100.0f, .freq_scale = 0.5f};
  const std::vector<float> factors = {1, 4};
  v = {1, 0, 1, 0, 7};
  rope_row_ref(v, adjacent, factors.data(), 8);  // angles 4 and 8 * 0.1 * 0.5 / 4 = 0.1
  CHECK(v[1] == Approx(std::sin(4.0)));
  CHECK(v[2] == Approx(std::cos(0.1)));
  CHECK(v[3] == Approx(std::sin(0.1)));
}

TEST_CASE("a q8_0 head row holds codes of x / scale and two f16 scales a word") {
  const KvLayout kv{.type = KvType::kQ8_0, .n_pages = 1, .n_kv_heads = 1, .head_dim = 96};
  CHECK(kv.scales_offset() == 32 * 96);
  CHECK(kv.bytes() == 32 * 96 + 32 * 2 * 4);
  std::vector<std::byte> cache(kv.bytes());
  std::vector<float> x(96, 0.0f);
  x[0] = 127.0f;
  x[1] = -64.4f;
  x[64] = 254.0f;
  kv_store_ref(kv, cache.data(), 1, x.data());
  CHECK(kv_load_ref(kv, cache.data(), 1, 0) == 127.0f);
  CHECK(kv_load_ref(kv, cache.data(), 1, 1) == -64.0f);
  CHECK(kv_load_ref(kv, cache.data(), 1, 40) == 0.0f);
  CHECK(kv_load_ref(kv, cache.data(), 1, 64) == 254.0f);
  CHECK(std::to_integer<int>(cache[96 + 64]) == 127);
  uint16_t scale = 0;
  std::memcpy(&scale, cache.data() + kv.scales_offset() + 2 * 4 + 4,
              2);  // row 1, second word, low half
  CHECK(base::f16_to_f32(scale) == 2.0f);
}

// Two positions, keys (1 0 0 0) and (0 1 0 0), values 10 and 20 in element 0, one head of four.
struct AttentionCase {
  KvLayout kv;
  std::vector<std::byte> k, v;
  std::vector<float> q, out;
  std::vector<int32_t> positions = {0, 1};
  std::vector<uint32_t> sequences = {0, 0}, pages = {1};
  AttentionCpuArgs args;

  explicit AttentionCase(KvType type)
      : kv{.type = type, .n_pages = 2, .n_kv_heads = 1, .head_dim = 4} {
    k.resize(kv.bytes());
    v.resize(kv.bytes());
    for (uint32_t p = 0; p < 2; ++p) {
      const float key[4] = {p == 0 ? 1.0f : 0.0f, p == 1 ? 1.0f : 0.0f, 0, 0};
      const float value[4] = {10.0f * static_cast<float>(p + 1), 0, 0, 0};
      kv_store_ref(kv, k.data(), kv_row(kv, 1, 0, p), key);
      kv_store_ref(kv, v.data(), kv_row(kv, 1, 0, p), value);
    }
    q = {5, 5, 0, 0, 0, 2, 0, 0};
    out.resize(8);
    args.step = {.n_tokens = 2,
                 .positions = positions.data(),
                 .sequences = sequences.data(),
                 .pages = pages.data(),
                 .pages_per_sequence = 1};
    args.q = q.data();
    args.k_cache = k.data();
    args.v_cache = v.data();
    args.out = out.data();
    args.kv = kv;
    args.n_heads = 1;
    args.scale = 0.5f;
  }
};

TEST_CASE("attention_ref is causal, scales, caps and windows its scores") {
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    AttentionCase c(type);
    attention_ref(c.args);
    CHECK(c.out[0] == 10.0f);        // the first row sees only itself
    const double e = std::exp(1.0);  // scores 0 and 1
    CHECK(c.out[4] == Approx((10 + 20 * e) / (1 + e)));

    c.args.softcap = 0.5f;
    attention_ref(c.args);
    const double capped = std::exp(0.5 * std::tanh(2.0));
    CHECK(c.out[4] == Approx((10 + 20 * capped) / (1 + capped)));

    c.args.window = 1;
    attention_ref(c.args);
    CHECK(c.out[4] == 20.0f);
  }
}

TEST_CASE("rope_append_ref writes what attention_ref reads") {
  AttentionCase c(KvType::kF32);
  const std::vector<float> qkv = {1, 2, 3, 4,  0,  6,
                                  0, 8, 9, 10, 11, 12};  // one q, one k, one v head at position 1
  std::vector<float> q(4);
  RopeCpuArgs args;
  args.step = c.args.step;
  args.step.n_tokens = 1;
  args.step.positions = c.positions.data() + 1;
  args.qkv = qkv.data();
  args.q_out = q.data();
  args.k_cache = c.k.data();
  args.v_cache = c.v.data();
  args.kv = c.kv;
  args.n_heads = 1;
  rope_append_ref(args);
  CHECK(q == std::vector<float>{1, 2, 3, 4});
  CHECK(kv_load_ref(c.kv, c.k.data(), kv_row(c.kv, 1, 0, 1), 3) == 8.0f);
  CHECK(kv_load_ref(c.kv, c.v.data(), kv_row(c.kv, 1, 0, 1), 0) == 9.0f);
  CHECK(kv_load_ref(c.kv, c.v.data(), kv_row(c.kv, 1, 0, 0), 0) ==
        10.0f);  // the other slot is untouched
}

TEST_CASE("matmul_ref stores, adds, gates by 4-row groups and caps") {
  std::vector<float> weight(8 * 2);
  for (uint32_t r = 0; r < 8; ++r) weight[2 * r] = static_cast<float>(r + 1);
  const std::vector<float> x = {1, 5};
  std::vector<float> y(10, 1.0f);
  MatmulRefArgs args{.weight = weight.data(),
                     .rows = 8,
                     .cols = 2,
                     .x = x.data(),
                     .y = y.data(),
                     .n_rows = 1,
                     .y_stride = 10,
                     .y_column = 1};
  matmul_ref(args);
  CHECK(y == std::vector<float>{1, 1, 2, 3, 4, 5, 6, 7, 8, 1});
  args.epilogue = Epilogue::kAdd;
  matmul_ref(args);
  CHECK(y[8] == 16.0f);
  args.epilogue = Epilogue::kSwiGlu;
  matmul_ref(args);
  CHECK(y[2] == Approx(2.0 / (1 + std::exp(-2.0)) * 6));  // gate row 1, up row 5
  args.epilogue = Epilogue::kGeGlu;
  matmul_ref(args);
  CHECK(y[1] == Approx(0.841192 * 5));
  args.epilogue = Epilogue::kSoftcap;
  args.softcap = 2.0f;
  matmul_ref(args);
  CHECK(y[3] == Approx(2 * std::tanh(1.5)));
}

TEST_CASE("embed_ref, gather_rows_ref, glu_ref and sample_ref do what their names say") {
  const std::vector<float> table = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> tokens = {2, 0};
  std::vector<float> x(4);
  embed_ref(table.data(), 2, tokens.data(), 2, 10.0f, x.data());
  CHECK(x == std::vector<float>{50, 60, 10, 20});

  const std::vector<uint32_t> output_rows = {1};
  std::vector<float> y(2);
  gather_rows_ref(x.data(), 2, output_rows.data(), 1, y.data());
  CHECK(y == std::vector<float>{10, 20});

  const std::vector<float> gate_up = {0, 1, 5, 7};
  glu_ref(gate_up.data(), y.data(), 1, 2, Activation::kSilu);
  CHECK(y[0] == 0.0f);
  CHECK(y[1] == Approx(7 * 0.731059));

  SamplingParams greedy;
  greedy.temperature = 0;
  CHECK(sample_ref(greedy, std::vector<float>{0, 3, 3, -1}, {}, 0) == 1);
  CHECK(sample_ref(greedy, std::vector<float>{-5, -2, -2, -3}, {}, 0) == 1);
}

}  // namespace
}  // namespace puna::kernels
