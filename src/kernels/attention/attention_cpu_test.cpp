#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "kernels/attention/attention_ref.h"
#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"

namespace puna::kernels {
namespace {

struct Case {
  uint32_t n_heads, n_kv, head_dim;
  KvType kv = KvType::kF32;
  float softcap = 0;
  float max_alibi_bias = 0;
  uint32_t bias_reach = 0;  // 0 = no biases by distance
  uint32_t window = 0;
  bool chunks = false;
  int n_threads = 2;
  uint32_t v_dim = 0;
  bool shares_cache = false;  // values are part of the keys
  bool has_sinks = false;
  bool causal = true;
  // Of each row; rows of one sequence are neighbours.
  std::vector<int32_t> positions = {};
  std::vector<uint32_t> sequences = {};
  std::vector<RowPlace> places = {};  // none, or one for each row
};

std::vector<int32_t> from(int32_t first, int32_t n) {
  std::vector<int32_t> positions(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

// Exact rows are the same bits whatever else is in the step, and by any number of threads.
void check_alone(AttentionCpuArgs args, int n_threads) {
  args.numerics = Numerics::kExact;
  const CpuStep all = args.step;
  const size_t n_in = size_t{args.n_heads} * args.kv.head_dim;
  const size_t n_out = size_t{args.n_heads} * (args.v_dim != 0 ? args.v_dim : args.kv.head_dim);
  const float* const q = args.q;
  const auto run = [&](int threads, CpuStep step, uint32_t first) {
    std::vector<float> out(step.n_tokens * n_out, NAN);
    base::ThreadPool pool(threads);
    std::vector<std::byte> scratch(
        attention_cpu_scratch_bytes(threads, args.n_heads, args.kv.head_dim, step.n_tokens) + 64);
    args.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    args.step = step;
    args.q = q + first * n_in;
    args.out = out.data();
    attention_cpu(pool, args);
    return out;
  };
  const std::vector<float> together = run(n_threads, all, 0);
  for (uint32_t t = 0; t < all.n_tokens; t += 9) {
    CpuStep one = all;
    one.n_tokens = 1;
    one.positions += t;
    one.sequences += t;
    if (one.places) one.places += t;
    const std::vector<float> alone = run(3, one, t);
    CHECK(std::ranges::equal(alone, std::span(together).subspan(t * n_out, n_out)));
  }
}

void check(Case c, double limit = 1e-10) {
  const uint32_t n_tokens = static_cast<uint32_t>(c.positions.size());
  c.sequences.resize(n_tokens, 0);
  INFO("heads " << c.n_heads << "/" << c.n_kv << " x " << c.head_dim << ", kv "
                << static_cast<int>(c.kv) << ", " << n_tokens << " rows from " << c.positions[0]
                << ", window " << c.window << ", cap " << c.softcap << ", threads " << c.n_threads);
  const uint32_t most =
      static_cast<uint32_t>(*std::max_element(c.positions.begin(), c.positions.end())) + 1;
  const uint32_t n_sequences = *std::max_element(c.sequences.begin(), c.sequences.end()) + 1;
  const uint32_t per_sequence = (most + kPageTokens - 1) / kPageTokens;
  const KvLayout kv{.type = c.kv,
                    .n_pages = n_sequences * per_sequence,
                    .n_kv_heads = c.n_kv,
                    .head_dim = c.head_dim};
  std::vector<uint32_t> pages(kv.n_pages);
  for (uint32_t i = 0; i < kv.n_pages; ++i) pages[i] = kv.n_pages - 1 - i;
  // Poison in every slot that no row may see.
  std::vector<std::byte> k(kv.bytes()), v(kv.bytes());
  const std::vector<float> nothing(c.head_dim, 1e4f);
  for (uint64_t row = 0; row < uint64_t{kv.n_pages} * c.n_kv * kPageTokens; ++row) {
    kv_store_ref(kv, k.data(), row, nothing.data());
    kv_store_ref(kv, v.data(), row, nothing.data());
  }
  for (uint32_t s = 0; s < n_sequences; ++s) {
    for (uint32_t p = 0; p < most; ++p) {
      bool seen = false;
      for (uint32_t t = 0; t < n_tokens; ++t)
        seen = seen || (c.sequences[t] == s && static_cast<uint32_t>(c.positions[t]) >= p);
      if (!seen) continue;
      for (uint32_t h = 0; h < c.n_kv; ++h) {
        const uint64_t row =
            kv_row(kv, pages[s * per_sequence + p / kPageTokens], h, p % kPageTokens);
        kv_store_ref(kv, k.data(), row, test::normal(c.head_dim, 1000 * s + 10 * p + h).data());
        kv_store_ref(kv, v.data(), row,
                     test::normal(c.head_dim, 7000 + 1000 * s + 10 * p + h).data());
      }
    }
  }
  const std::vector<float> q = test::normal(size_t{n_tokens} * c.n_heads * c.head_dim, 5, 2.0f);
  const size_t out_size = size_t{n_tokens} * c.n_heads * (c.v_dim != 0 ? c.v_dim : c.head_dim);
  const std::vector<float> sinks = test::normal(c.n_heads, 6, 3.0f);
  std::vector<float> out(out_size, NAN), expected(out_size);
  AttentionCpuArgs args;
  args.step = {.n_tokens = n_tokens,
               .positions = c.positions.data(),
               .sequences = c.sequences.data(),
               .pages = pages.data(),
               .pages_per_sequence = per_sequence,
               .places = c.places.empty() ? nullptr : c.places.data()};
  args.q = q.data();
  args.k_cache = k.data();
  args.v_cache = c.shares_cache ? k.data() : v.data();
  args.v_dim = c.v_dim;
  args.sinks = c.has_sinks ? sinks.data() : nullptr;
  args.causal = c.causal;
  args.out = expected.data();
  args.kv = kv;
  args.n_heads = c.n_heads;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  args.softcap = c.softcap;
  args.max_alibi_bias = c.max_alibi_bias;
  const auto biases = test::normal(size_t{c.n_heads} * (2 * c.bias_reach + 1), 8, 2.0f);
  args.biases = c.bias_reach > 0 ? biases.data() : nullptr;
  args.bias_reach = c.bias_reach;
  args.window = c.window;
  args.chunks = c.chunks;
  attention_ref(args);
  base::ThreadPool pool(c.n_threads);
  const uint64_t bytes = attention_cpu_scratch_bytes(c.n_threads, c.n_heads, c.head_dim, n_tokens);
  std::vector<std::byte> scratch(bytes + 128, std::byte{0xff});
  args.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  args.out = out.data();
  attention_cpu(pool, args);
  CHECK(test::nmse(out, expected) <= limit);
  CHECK(std::all_of(args.scratch + bytes, scratch.data() + scratch.size(),
                    [](std::byte b) { return b == std::byte{0xff}; }));
  if (c.causal) check_alone(args, c.n_threads);
}

TEST_CASE("one token attends to any number of keys, whole or split over threads") {
  test::for_every_variant([] {
    for (const int32_t position : {0, 1, 30, 31, 32, 63, 64, 200, 700}) {
      check({.n_heads = 9, .n_kv = 3, .head_dim = 64, .positions = {position}});
      check({.n_heads = 4, .n_kv = 4, .head_dim = 80, .n_threads = 1, .positions = {position}});
    }
    check({.n_heads = 7, .n_kv = 1, .head_dim = 128, .n_threads = 5, .positions = {900}});
    check({.n_heads = 8, .n_kv = 2, .head_dim = 20, .positions = {300}});
  });
}

TEST_CASE("a prompt attends causally, in tiles that share their pages") {
  test::for_every_variant([] {
    for (const int32_t n : {2, 5, 21, 22, 33, 100}) {
      check({.n_heads = 9, .n_kv = 3, .head_dim = 64, .positions = from(0, n)});
      check({.n_heads = 4, .n_kv = 1, .head_dim = 96, .positions = from(45, n)});
    }
    check({.n_heads = 1, .n_kv = 1, .head_dim = 4, .positions = from(0, 130)});
    check({.n_heads = 6, .n_kv = 1, .head_dim = 256, .positions = from(10, 40)});
    check({.n_heads = 80, .n_kv = 1, .head_dim = 64, .positions = from(0, 3)});
  });
}

TEST_CASE("windows and caps apply to one token and to prompts") {
  test::for_every_variant([] {
    for (const uint32_t window : {1u, 2u, 32u, 50u, 400u}) {
      check({.n_heads = 4, .n_kv = 2, .head_dim = 64, .window = window, .positions = {333}});
      check({.n_heads = 4, .n_kv = 2, .head_dim = 64, .window = window, .positions = from(90, 70)});
    }
    check({.n_heads = 4,
           .n_kv = 2,
           .head_dim = 64,
           .softcap = 5.0f,
           .window = 40,
           .positions = {333}});
    check({.n_heads = 4, .n_kv = 2, .head_dim = 64, .softcap = 5.0f, .positions = from(90, 70)});
  });
}

TEST_CASE("chunks begin anew every so many positions, for one token and for prompts") {
  test::for_every_variant([] {
    for (const uint32_t window : {1u, 2u, 32u, 50u, 400u}) {
      for (const int32_t position : {0, 31, 32, 49, 50, 333}) {
        check({.n_heads = 4,
               .n_kv = 2,
               .head_dim = 64,
               .window = window,
               .chunks = true,
               .positions = {position}});
      }
      check({.n_heads = 4,
             .n_kv = 2,
             .head_dim = 64,
             .window = window,
             .chunks = true,
             .positions = from(90, 70)});
    }
  });
}

TEST_CASE("sinks take part in the softmax of one token, of its splits and of prompts") {
  test::for_every_variant([] {
    check({.n_heads = 4, .n_kv = 2, .head_dim = 32, .has_sinks = true, .positions = {0}});
    check({.n_heads = 6,
           .n_kv = 1,
           .head_dim = 64,
           .n_threads = 5,
           .has_sinks = true,
           .positions = {900}});
    check({.n_heads = 6,
           .n_kv = 2,
           .head_dim = 64,
           .window = 20,
           .has_sinks = true,
           .positions = from(50, 70)});
  });
}

TEST_CASE("ALiBi takes the distance off the scores of one token, of its splits and of prompts") {
  test::for_every_variant([] {
    for (const uint32_t n_heads : {4u, 6u, 11u}) {  // slopes beyond the largest power of two
      const uint32_t n_kv = n_heads % 2 == 0 ? 2 : 1;
      Case c{.n_heads = n_heads, .n_kv = n_kv, .head_dim = 32, .max_alibi_bias = 8};
      for (const uint32_t window : {0u, 40u}) {
        c.window = window;
        c.positions = {333};
        check(c);
        c.positions = from(90, 70);
        check(c);
      }
    }
    check({.n_heads = 4,
           .n_kv = 1,
           .head_dim = 64,
           .max_alibi_bias = 4,
           .n_threads = 5,
           .positions = {900}});
    check({.n_heads = 4,
           .n_kv = 4,
           .head_dim = 32,
           .max_alibi_bias = 8,
           .causal = false,
           .positions = from(0, 41)});
  });
}

TEST_CASE("biases by distance are added for one token, its splits, prompts and both ways") {
  test::for_every_variant([] {
    for (const uint32_t n_heads : {4u, 6u, 11u}) {
      Case c{.n_heads = n_heads, .n_kv = n_heads % 2 == 0 ? 2u : 1u, .head_dim = 32};
      for (const uint32_t reach : {1u, 20u, 500u}) {
        c.bias_reach = reach;
        c.window = reach == 20 ? 40 : 0;
        c.causal = true;
        c.positions = {333};
        check(c);
        c.positions = from(90, 70);
        check(c);
        c.causal = false;
        c.positions = from(0, 130);
        check(c);
      }
    }
    check({.n_heads = 4,
           .n_kv = 1,
           .head_dim = 64,
           .bias_reach = 128,
           .n_threads = 5,
           .positions = {900}});
    std::vector<int32_t> positions = from(0, 100);
    std::vector<uint32_t> sequences(100, 1);
    for (int32_t i = 0; i < 20; ++i) {
      positions.push_back(i);
      sequences.push_back(0);
    }
    check({.n_heads = 3,
           .n_kv = 3,
           .head_dim = 64,
           .bias_reach = 30,
           .causal = false,
           .positions = positions,
           .sequences = sequences});
  });
}

TEST_CASE("slopes of ALiBi are those of the paper") {
  CHECK(alibi_slope(8, 8, 0) == 0.5f);
  CHECK(alibi_slope(8, 8, 7) == 1.0f / 256);
  CHECK(alibi_slope(8, 16, 0) == doctest::Approx(std::sqrt(0.5)));
  // Of twelve heads the first eight are those of eight, the others those of sixteen, every second.
  CHECK(alibi_slope(8, 12, 7) == 1.0f / 256);
  CHECK(alibi_slope(8, 12, 8) == doctest::Approx(std::sqrt(0.5)));
  CHECK(alibi_slope(8, 12, 11) == doctest::Approx(std::pow(2.0, -3.5)));
}

TEST_CASE("rows that are not causal see all rows of their sequence") {
  test::for_every_variant([] {
    check({.n_heads = 4, .n_kv = 4, .head_dim = 32, .causal = false, .positions = from(0, 41)});
    check({.n_heads = 4, .n_kv = 4, .head_dim = 32, .causal = false, .positions = {0}});
    std::vector<int32_t> positions = from(0, 100);
    std::vector<uint32_t> sequences(100, 1);
    for (int32_t i = 0; i < 20; ++i) {
      positions.push_back(i);
      sequences.push_back(0);
    }
    check({.n_heads = 3,
           .n_kv = 1,
           .head_dim = 64,
           .causal = false,
           .positions = positions,
           .sequences = sequences});
  });
}

TEST_CASE("a window of rows that are not causal reaches as far on either side") {
  test::for_every_variant([] {
    std::vector<int32_t> positions = from(0, 100);
    std::vector<uint32_t> sequences(100, 1);
    for (int32_t i = 0; i < 20; ++i) {
      positions.push_back(i);
      sequences.push_back(0);
    }
    for (const uint32_t window : {1u, 2u, 9u, 32u, 65u, 400u}) {
      Case c{.n_heads = 4, .n_kv = 2, .head_dim = 32, .window = window, .causal = false};
      c.positions = from(0, 130);
      check(c);
      c.positions = {0};
      check(c);
      c.positions = positions;
      c.sequences = sequences;
      check(c);
      c.max_alibi_bias = 8;
      check(c);
    }
  });
}

TEST_CASE("values may be shorter than keys, and part of them") {
  test::for_every_variant([] {
    for (const bool shared : {false, true}) {
      for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
        check({.n_heads = 16,
               .n_kv = 1,
               .head_dim = 576,
               .kv = type,
               .v_dim = 512,
               .shares_cache = shared,
               .positions = {170}});
        check({.n_heads = 6,
               .n_kv = 2,
               .head_dim = 192,
               .kv = type,
               .v_dim = 128,
               .shares_cache = shared,
               .positions = from(20, 60)});
      }
    }
  });
}

TEST_CASE("f16, q8_0 and q4_0 caches are read as they decode") {
  test::for_every_variant([] {
    for (const KvType type : {KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
      check({.n_heads = 9, .n_kv = 3, .head_dim = 64, .kv = type, .positions = {170}});
      check({.n_heads = 9, .n_kv = 3, .head_dim = 64, .kv = type, .positions = from(20, 60)});
      check({.n_heads = 2, .n_kv = 2, .head_dim = 96, .kv = type, .positions = from(20, 60)});
    }
    check({.n_heads = 2, .n_kv = 2, .head_dim = 20, .kv = KvType::kF16, .positions = from(20, 60)});
  });
}

TEST_CASE("rows of several sequences in one step see only their own") {
  test::for_every_variant([] {
    check({.n_heads = 6,
           .n_kv = 2,
           .head_dim = 64,
           .positions = {10, 300, 0, 77},
           .sequences = {0, 1, 2, 3}});
    check({.n_heads = 6,
           .n_kv = 2,
           .head_dim = 64,
           .n_threads = 8,
           .positions = {10, 300},
           .sequences = {1, 0}});
    std::vector<int32_t> positions = from(40, 30);
    std::vector<uint32_t> sequences(30, 1);
    positions.insert(positions.end(), {5, 100});
    sequences.insert(sequences.end(), {0, 2});
    check(
        {.n_heads = 6, .n_kv = 2, .head_dim = 64, .positions = positions, .sequences = sequences});
  });
}

// Rows [begin, end) of a step attend to each other.
void see_each_other(std::vector<RowPlace>& places, uint32_t begin, uint32_t end) {
  for (uint32_t t = begin; t < end; ++t) {
    places[t].before = t - begin;
    places[t].after = end - 1 - t;
  }
}

TEST_CASE("rows that see those around them do so over tiles, pages and windows") {
  test::for_every_variant([] {
    for (const uint32_t window : {0u, 5u, 24u}) {
      Case c{.n_heads = 4, .n_kv = 2, .head_dim = 32, .window = window};
      c.positions = from(17, 130);
      c.places.resize(130);
      see_each_other(c.places, 3, 12);
      see_each_other(c.places, 12, 13);
      see_each_other(c.places, 40, 120);
      check(c);
      // Beside a row of another sequence; a picture that begins the step, and ends it.
      c.positions = from(0, 70);
      c.positions.push_back(9);
      c.sequences.assign(70, 0);
      c.sequences.push_back(1);
      c.places.assign(71, {});
      see_each_other(c.places, 0, 70);
      check(c);
    }
  });
}

}  // namespace
}  // namespace puna::kernels
