#include <doctest/doctest.h>

#include <numeric>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/rope/rope_ref.h"

namespace puna::kernels {
namespace {

struct Case {
  KvType kv = KvType::kF32;
  RopeParams rope;
  uint32_t n_heads, n_kv, head_dim;
  bool norms = false, factors = false, v_norm = false, appends = true;
  std::vector<int32_t> positions = {};
  std::vector<RowPlace> places = {};
};

// Elements of a cache that both sides wrote or left alone, as f32.
std::vector<float> decode_cache(const KvLayout& kv, const std::vector<std::byte>& cache) {
  std::vector<float> values;
  for (uint64_t row = 0; row < uint64_t{kv.n_pages} * kv.n_kv_heads * kPageTokens; ++row) {
    for (uint32_t d = 0; d < kv.head_dim; ++d)
      values.push_back(kv_load_ref(kv, cache.data(), row, d));
  }
  return values;
}

void check(const Case& c, double limit, double cache_limit) {
  CAPTURE(c.head_dim);
  CAPTURE(static_cast<int>(c.kv));
  const uint32_t n_tokens = static_cast<uint32_t>(c.positions.size());
  const KvLayout kv{.type = c.kv, .n_pages = 7, .n_kv_heads = c.n_kv, .head_dim = c.head_dim};
  // Two sequences that take turns; every logical page of one maps to one physical page, which wraps
  // positions onto few pages.
  const uint32_t pages_per_sequence = 4096;
  std::vector<uint32_t> pages(2 * pages_per_sequence), sequences(n_tokens);
  for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = (i * 3 + 1) % 7;
  for (uint32_t t = 0; t < n_tokens; ++t) sequences[t] = t % 2;

  const std::vector<float> qkv =
      test::normal(size_t{n_tokens} * (c.n_heads + (c.appends ? 2 * c.n_kv : 0)) * c.head_dim, 1);
  const std::vector<float> q_norm = test::normal(c.head_dim, 2),
                           k_norm = test::normal(c.head_dim, 3);
  std::vector<float> factors(c.rope.n_rot / 2);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = 1.0f + static_cast<float>(i) * 0.25f;
  std::vector<float> q(size_t{n_tokens} * c.n_heads * c.head_dim, NAN), q_ref(q.size());
  std::vector<std::byte> k(kv.bytes()), v(kv.bytes()), k_ref(kv.bytes()), v_ref(kv.bytes());
  RopeCpuArgs args;
  args.step = {.n_tokens = n_tokens,
               .positions = c.positions.data(),
               .sequences = sequences.data(),
               .pages = pages.data(),
               .pages_per_sequence = pages_per_sequence,
               .places = c.places.empty() ? nullptr : c.places.data()};
  args.qkv = qkv.data();
  args.q_norm = c.norms ? q_norm.data() : nullptr;
  args.k_norm = c.norms ? k_norm.data() : nullptr;
  args.freq_factors = c.factors ? factors.data() : nullptr;
  args.kv = kv;
  args.n_heads = c.n_heads;
  args.rope = c.rope;
  args.v_norm = c.v_norm;
  args.q_out = q.data();
  args.k_cache = c.appends ? k.data() : nullptr;
  args.v_cache = c.appends ? v.data() : nullptr;
  base::ThreadPool pool(2);
  rope_append_cpu(pool, args);
  args.q_out = q_ref.data();
  args.k_cache = c.appends ? k_ref.data() : nullptr;
  args.v_cache = c.appends ? v_ref.data() : nullptr;
  rope_append_ref(args);
  CHECK(test::nmse(q, q_ref) <= limit);
  CHECK(test::nmse(decode_cache(kv, k), decode_cache(kv, k_ref)) <= cache_limit);
  CHECK(test::nmse(decode_cache(kv, v), decode_cache(kv, v_ref)) <= cache_limit);
}

std::vector<int32_t> from(int32_t first, int32_t n) {
  std::vector<int32_t> positions(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

TEST_CASE("rope_append_cpu equals its reference for both kinds of pairs, norms and factors") {
  test::for_every_variant([] {
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      for (const bool extras : {false, true}) {
        check({.rope = {.pairs = pairs, .n_rot = 64},
               .n_heads = 9,
               .n_kv = 3,
               .head_dim = 64,
               .norms = extras,
               .factors = extras,
               .positions = from(30, 21)},
              1e-12, 1e-12);
        check({.rope = {.pairs = pairs, .n_rot = 12, .base = 1e6f, .freq_scale = 0.25f},
               .n_heads = 2,
               .n_kv = 1,
               .head_dim = 20,
               .norms = extras,
               .factors = extras,
               .positions = from(0, 3)},
              1e-12, 1e-12);
        check({.rope = {.pairs = pairs, .n_rot = 96},
               .n_heads = 4,
               .n_kv = 2,
               .head_dim = 96,
               .norms = extras,
               .factors = extras,
               .positions = {5}},
              1e-12, 1e-12);
      }
      check({.rope = {.pairs = pairs, .n_rot = 0},
             .n_heads = 1,
             .n_kv = 1,
             .head_dim = 4,
             .positions = {31, 32}},
            1e-12, 1e-12);
    }
  });
}

TEST_CASE("rope_append_cpu stretches by YaRN, scales what it turns and lets q grow") {
  test::for_every_variant([] {
    for (const Yarn yarn : {Yarn{32, 32.0f, 1.0f}, Yarn{4096, 32.0f, 1.0f, /*truncate=*/false}}) {
      check({.rope = {.n_rot = 48,
                      .base = 1e6f,
                      .freq_scale = 1 / 16.0f,
                      .yarn = yarn,
                      .magnitude = 1.277f,
                      .temperature = {0.1f, 32}},
             .n_heads = 3,
             .n_kv = 1,
             .head_dim = 64,
             .positions = {0, 31, 32, 4000}},
            1e-12, 1e-12);
    }
  });
}

TEST_CASE("rope_append_cpu norms values, and turns q alone for layers without keys") {
  test::for_every_variant([] {
    for (const bool appends : {true, false}) {
      check({.rope = {.n_rot = 64},
             .n_heads = 3,
             .n_kv = 1,
             .head_dim = 64,
             .norms = true,
             .v_norm = appends,
             .appends = appends,
             .positions = from(20, 30)},
            1e-12, 1e-12);
    }
  });
}

TEST_CASE("rope_append_cpu norms heads after the turn, and counts tokens from 1 for q's growth") {
  test::for_every_variant([] {
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      for (const uint32_t n_rot : {64u, 24u, 0u}) {
        check({.rope = {.pairs = pairs,
                        .n_rot = n_rot,
                        .temperature = {0.1f, 32, 1},
                        .norms_last = true},
               .n_heads = 3,
               .n_kv = 1,
               .head_dim = 64,
               .norms = true,
               .positions = {0, 30, 31, 32, 4000}},
              1e-12, 1e-12);
      }
    }
  });
}

TEST_CASE("rope_append_cpu is as exact at position 100,000 as at the start") {
  test::for_every_variant([] {
    check({.rope = {.n_rot = 128},
           .n_heads = 4,
           .n_kv = 1,
           .head_dim = 128,
           .positions = from(100000, 9)},
          1e-12, 1e-12);
  });
}

TEST_CASE("rope_append_cpu writes f16 and q8_0 caches as the reference does") {
  test::for_every_variant([] {
    // Codes at a rounding tie may differ where the rotated value differs in its last bit.
    check({.kv = KvType::kF16,
           .rope = {.n_rot = 64},
           .n_heads = 3,
           .n_kv = 3,
           .head_dim = 64,
           .positions = from(20, 30)},
          1e-12, 1e-9);
    check({.kv = KvType::kF16,
           .rope = {.n_rot = 20},
           .n_heads = 3,
           .n_kv = 3,
           .head_dim = 20,
           .positions = from(20, 30)},
          1e-12, 1e-9);
    check({.kv = KvType::kQ4_0,
           .rope = {.n_rot = 96},
           .n_heads = 3,
           .n_kv = 3,
           .head_dim = 96,
           .positions = from(20, 30)},
          1e-12, 1e-4);
    check({.kv = KvType::kQ8_0,
           .rope = {.n_rot = 96},
           .n_heads = 3,
           .n_kv = 3,
           .head_dim = 96,
           .positions = from(20, 30)},
          1e-12, 1e-7);
  });
}

// A word, rows of a picture of three columns, and words behind it, whose positions are smaller.
std::vector<RowPlace> beside_a_picture(int32_t n) {
  std::vector<RowPlace> out(static_cast<size_t>(n));
  for (int32_t t = 1; t < n; ++t) {
    RowPlace& place = out[static_cast<size_t>(t)];
    const int32_t cell = t - 1;
    place.turns =
        cell < 12 ? std::array{-cell, -cell + cell / 3, -cell + cell % 3} : std::array{-8, -8, -8};
  }
  return out;
}

TEST_CASE("pairs turn by the coordinates of their sections") {
  test::for_every_variant([] {
    for (const SectionOrder order : {SectionOrder::kInTurn, SectionOrder::kByThrees}) {
      for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
        Case c{.rope = {.pairs = pairs, .n_rot = 96, .base = 1e6f},
               .n_heads = 4,
               .n_kv = 2,
               .head_dim = 96,
               .norms = true,
               .positions = from(40, 20),
               .places = beside_a_picture(20)};
        c.rope.sections = {{16, 20, 12}, order};
        check(c, 1e-12, 1e-12);
      }
    }
  });
}

TEST_CASE("rows that nothing is added to turn by sections as without, bit for bit") {
  base::ThreadPool pool(1);
  const std::vector<float> x = test::normal(size_t{3} * 2 * 64, 1);
  std::vector<float> plain(x.size()), sections(x.size());
  const std::vector<int32_t> positions = {0, 7, 4001};
  const std::vector<uint32_t> sequences(3), pages(200);
  const std::vector<RowPlace> places(3);
  RopeCpuArgs args;
  args.step = {3, positions.data(), sequences.data(), pages.data(), 200};
  args.qkv = x.data();
  args.kv = {.n_kv_heads = 1, .head_dim = 64};
  args.n_heads = 2;
  args.rope = {.n_rot = 64};
  args.q_out = plain.data();
  rope_append_cpu(pool, args);
  args.rope.sections = {{12, 10, 10}, SectionOrder::kByThrees};
  args.step.places = places.data();
  args.q_out = sections.data();
  rope_append_cpu(pool, args);
  CHECK(plain == sections);
}

TEST_CASE("sections are in turn, or height and width by threes") {
  const RopeSections in_turn{{2, 3, 1}, SectionOrder::kInTurn};
  const RopeSections by_threes{{4, 2, 1}, SectionOrder::kByThrees};
  const uint32_t of_in_turn[] = {0, 0, 1, 1, 1, 2}, of_by_threes[] = {0, 1, 2, 0, 1, 0, 0};
  for (uint32_t i = 0; i < 6; ++i) CHECK(in_turn.of(i) == of_in_turn[i]);
  for (uint32_t i = 0; i < 7; ++i) CHECK(by_threes.of(i) == of_by_threes[i]);
}

}  // namespace
}  // namespace puna::kernels
