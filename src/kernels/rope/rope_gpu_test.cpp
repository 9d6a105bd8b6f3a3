// rope.wgsl against rope_ref.h on an adapter: q, and every element of both caches.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_step.h"

namespace puna::kernels {
namespace {

struct RopeCase {
  uint32_t head_dim = 64, n_heads = 6, n_kv_heads = 2;
  KvType type = KvType::kF32;
  RopeParams rope;
  bool norms = false;
  bool factors = false;
  bool v_norm = false;
  bool appends = true;
  std::vector<int32_t> positions = {0, 1, 31, 32, 33, 100};
  std::vector<uint32_t> sequences = {0, 1, 0, 1, 0, 2};
  std::vector<RowPlace> places = {};
};

// Runs a case; returns the NMSE of q, K and V, with cache elements decoded.
struct Errors {
  double q, k, v;
};
Errors run(const RopeCase& c, test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return {};
  test::TestStep step(c.positions, c.sequences);
  step.places = c.places;
  const KvLayout kv{c.type, step.n_pages, c.n_kv_heads, c.head_dim};
  const std::vector<float> qkv = test::normal(
      size_t{step.n_tokens()} * (c.n_heads + (c.appends ? 2 * c.n_kv_heads : 0)) * c.head_dim, 1);
  const std::vector<float> norms = test::normal(size_t{2} * c.head_dim, 2);
  std::vector<float> factors(c.rope.n_rot / 2);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = 1.0f + 0.37f * static_cast<float>(i);
  // A pattern that shows whether anything but the rows' own slots is written.
  const std::vector<std::byte> before(kv.bytes(), std::byte{0x5a});

  RopeArgs args;
  args.label = "rope";
  args.step = gpu->upload(step.words());
  args.pages = gpu->upload(step.pages);
  args.qkv = gpu->upload(qkv);
  if (c.norms) args.head_norms = gpu->upload(norms);
  if (c.rope.n_rot > 0)
    args.table = gpu->upload(rope_table(c.rope, c.factors ? factors.data() : nullptr));
  args.v_norm = c.v_norm;
  args.appends = c.appends;
  args.q_out = gpu->output(uint64_t{step.n_tokens()} * c.n_heads * c.head_dim * 4);
  args.k_cache = gpu->output(kv.bytes());
  args.v_cache = gpu->output(kv.bytes());
  gpu->write(args.k_cache, before);
  gpu->write(args.v_cache, before);
  args.kv = kv;
  args.n_heads = c.n_heads;
  args.pages_per_sequence = step.pages_per_sequence;
  args.rope = c.rope;
  std::vector<KernelCall> calls;
  const auto described = rope_append(gpu->info(), args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  gpu->run(calls, {.n_tokens = step.n_tokens()});

  std::vector<float> q(size_t{step.n_tokens()} * c.n_heads * c.head_dim);
  std::vector<std::byte> k = before, v = before;
  RopeCpuArgs ref;
  ref.step = step.cpu();
  ref.qkv = qkv.data();
  ref.q_norm = c.norms ? norms.data() : nullptr;
  ref.k_norm = c.norms ? norms.data() + c.head_dim : nullptr;
  ref.freq_factors = c.factors ? factors.data() : nullptr;
  ref.q_out = q.data();
  ref.v_norm = c.v_norm;
  ref.k_cache = c.appends ? k.data() : nullptr;
  ref.v_cache = c.appends ? v.data() : nullptr;
  ref.kv = kv;
  ref.n_heads = c.n_heads;
  ref.rope = c.rope;
  rope_append_ref(ref);

  const auto decode = [&](const std::vector<std::byte>& cache) {
    std::vector<float> out;
    for (uint64_t row = 0; row < uint64_t{kv.n_pages} * kv.n_kv_heads * kPageTokens; ++row)
      for (uint32_t d = 0; d < kv.head_dim; ++d)
        out.push_back(kv_load_ref(kv, cache.data(), row, d));
    return out;
  };
  const auto written = [&](const std::vector<std::byte>& cache) {
    size_t n = 0;
    for (const std::byte b : cache) n += b != std::byte{0x5a};
    return n;
  };
  const std::vector<std::byte> got_k = gpu->read<std::byte>(args.k_cache),
                               got_v = gpu->read<std::byte>(args.v_cache);
  CHECK(written(got_k) <=
        uint64_t{step.n_tokens()} * kv.bytes() / (uint64_t{kv.n_pages} * kPageTokens) + 4);
  return {test::nmse(gpu->read<float>(args.q_out), q), test::nmse(decode(got_k), decode(k)),
          test::nmse(decode(got_v), decode(v))};
}

void check(const RopeCase& c, double q_limit) {
  CAPTURE(c.head_dim);
  CAPTURE(c.rope.n_rot);
  CAPTURE(int(c.type));
  CAPTURE(int(c.rope.pairs));
  CAPTURE(c.norms);
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const Errors e = run(c, features);
    // A code or half that rounds the other way is a step of its type.
    const double cache_limit = c.type == KvType::kF32    ? q_limit
                               : c.type == KvType::kF16  ? 1e-8
                               : c.type == KvType::kQ8_0 ? 1e-6
                                                         : 1e-3;
    CHECK(e.q < q_limit);
    CHECK(e.k < std::max(cache_limit, q_limit));
    CHECK(e.v < (c.v_norm                 ? std::max(cache_limit, q_limit)
                 : c.type == KvType::kF32 ? 1e-30
                                          : cache_limit));
  }
}

TEST_CASE(
    "rope_append on the GPU is right for both kinds of pairs, partial rotation, norms, factors and "
    "every cache type") {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    for (const uint32_t head_dim : {32u, 36u, 64u, 80u, 96u, 128u, 256u}) {
      if (is_block(type) && head_dim % 32 != 0) continue;
      for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
        RopeCase c;
        c.head_dim = head_dim;
        c.type = type;
        c.rope = {.pairs = pairs, .n_rot = head_dim};
        check(c, 1e-10);
        c.norms = true;
        c.factors = true;
        c.rope.n_rot = head_dim / 2 / 2 * 2 - 2;
        c.rope.freq_scale = 0.125f;
        check(c, 1e-10);
      }
    }
  }
}

TEST_CASE("rope_append on the GPU without rotation only norms and copies") {
  RopeCase c;
  c.rope.n_rot = 0;
  c.norms = true;
  check(c, 1e-10);
  c.norms = false;
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    c.type = type;
    check(c, 1e-30);
  }
}

TEST_CASE("rope on the GPU stretches by YaRN, scales what it turns and lets q grow") {
  RopeCase c;
  c.positions = {0, 7, 31, 32, 33, 4000};
  c.rope = {.n_rot = 64, .base = 1e6f, .freq_scale = 1 / 16.0f, .yarn = {32, 32.0f, 1.0f}};
  check(c, 1e-10);
  c.rope.yarn = {4096, 32.0f, 1.0f, /*truncate=*/false};
  c.rope.magnitude = 1.277f;
  c.rope.n_rot = 48;
  check(c, 1e-10);
  c.rope.temperature = {0.1f, 32};
  check(c, 1e-10);
}

TEST_CASE("rope on the GPU norms heads after the turn, and counts tokens from 1 for q's growth") {
  for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
    for (const uint32_t n_rot : {64u, 24u, 0u}) {
      RopeCase c;
      c.norms = true;
      c.positions = {0, 30, 31, 32, 33, 4000};
      c.rope = {.pairs = pairs, .n_rot = n_rot, .temperature = {0.1f, 32, 1}, .norms_last = true};
      check(c, 1e-10);
    }
  }
}

TEST_CASE("rope on the GPU norms values, and turns q alone for layers without keys") {
  RopeCase c;
  c.rope = {.n_rot = 64};
  c.norms = true;
  c.v_norm = true;
  check(c, 1e-10);
  c.type = KvType::kQ8_0;
  check(c, 1e-10);
  c.v_norm = false;
  c.appends = false;
  check(c, 1e-10);
}

TEST_CASE("pairs turn by the coordinates of their sections on the GPU") {
  RopeCase c;
  c.norms = true;
  c.places = {{},
              {.turns = {-1, 4, 7}},
              {.turns = {-20, -3, -11}},
              {.turns = {-8, -8, -8}},
              {.turns = {-33, -30, -1}},
              {.turns = {5, 900, 0}}};
  for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
    c.rope = {.pairs = pairs, .n_rot = 64, .base = 1e6f};
    c.rope.sections = {{8, 12, 12}, SectionOrder::kInTurn};
    check(c, 1e-10);
    c.rope.sections = {{12, 10, 10}, SectionOrder::kByThrees};
    check(c, 1e-10);
  }
}

TEST_CASE("sections of other pairs than are turned are refused with both numbers") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  RopeArgs args;
  args.label = "blk.0.rope";
  args.kv = {.n_kv_heads = 1, .head_dim = 64};
  args.n_heads = 2;
  args.rope = {.n_rot = 64, .sections = {{8, 8, 8}, SectionOrder::kInTurn}};
  args.table = Slice{};
  std::vector<KernelCall> calls;
  CHECK(rope_append(gpu->info(), args, calls).error().message ==
        "Rope blk.0.rope has sections of 8, 8, 8, 0 pairs, but three sections of 32 together are "
        "needed.");
}

TEST_CASE("rope on the GPU stays right at position 100,000 and beyond") {
  RopeCase c;
  c.n_kv_heads = 1;
  c.n_heads = 2;
  c.positions = {100'000, 99'999, 131'071, 70'001};
  c.sequences = {0, 0, 0, 0};
  c.head_dim = 64;
  c.rope = {.pairs = RopePairs::kNeox, .n_rot = 64, .base = 500'000.0f};
  check(c, 1e-10);  // the contract asks for 1e-7
  c.rope.base = 10'000.0f;
  check(c, 1e-10);
}

TEST_CASE("the table of turns holds each frequency to 64 bits") {
  const RopeParams rope{.n_rot = 8, .base = 10'000.0f};
  const std::vector<uint32_t> table = rope_table(rope, nullptr);
  REQUIRE(table.size() == 8);
  for (uint32_t i = 0; i < 4; ++i) {
    const double turns = std::pow(10'000.0, -2.0 * i / 8) / 6.283185307179586;
    CHECK((table[2 * i] + table[2 * i + 1] * 0x1p-32) * 0x1p-32 ==
          doctest::Approx(turns).epsilon(1e-15));
  }
  const std::vector<float> factors = {
      0.0f, 1, 1, 1};  // an infinite frequency: no rotation rather than a wrong one
  CHECK(rope_table(rope, factors.data())[0] == 0);
}

}  // namespace
}  // namespace puna::kernels
