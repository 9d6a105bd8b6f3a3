// The attention kernels against attention_ref.h on an adapter: decode with and without splits,
// prefill, every cache type.
#include "kernels/attention/attention_gpu.h"

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_ref.h"
#include "kernels/common/test_util.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_step.h"

namespace puna::kernels {
namespace {

struct AttentionCase {
  uint32_t head_dim = 64, group = 3, n_kv_heads = 2;
  KvType type = KvType::kF32;
  uint32_t window = 0;
  bool chunks = false;
  float softcap = 0;
  float max_alibi_bias = 0;
  uint32_t bias_reach = 0;  // 0 = no biases by distance
  float q_scale = 1, kv_scale = 1;
  uint32_t max_rows = 1;
  uint32_t n_splits = 1;
  uint32_t n_singles = 0, max_singles = 0;
  std::vector<int32_t> positions = {0};
  std::vector<uint32_t> sequences = {0};
  uint32_t pages = 4;  // of a sequence, at least
  uint32_t v_dim = 0;
  bool shares_cache = false;  // values are part of the keys
  bool has_sinks = false;
  bool causal = true;
  std::vector<RowPlace> places = {};  // none, or one for each row
  Numerics numerics = Numerics::kExact;
  uint32_t workgroup_bytes =
      0;  // of the described device, where the default limit hides a tile shape
  bool taken_for_gpu = false;
  bool hands_bytes = false;
};

// K and V of a case: as f32, and stored in its cache type. Slots after each sequence's last row
// hold NaN: reading them would show.
struct Caches {
  KvLayout kv, exact_kv;
  std::vector<std::byte> k, v, exact_k, exact_v;

  Caches(const AttentionCase& c, const test::TestStep& step)
      : kv{c.type, step.n_pages, c.n_kv_heads, c.head_dim},
        exact_kv{KvType::kF32, step.n_pages, c.n_kv_heads, c.head_dim} {
    std::vector<int32_t> last(step.n_pages / step.pages_per_sequence, -1);
    for (uint32_t t = 0; t < step.n_tokens(); ++t)
      last[step.sequences[t]] = std::max(last[step.sequences[t]], step.positions[t]);
    fill(step, last, test::normal(kDraws, 3, c.kv_scale), k, exact_k);
    fill(step, last, test::normal(kDraws, 4, c.kv_scale), v, exact_v);
  }

 private:
  static constexpr size_t kDraws = 1 << 16;

  void fill(const test::TestStep& step, const std::vector<int32_t>& last,
            const std::vector<float>& draws, std::vector<std::byte>& cache,
            std::vector<std::byte>& exact) const {
    cache.assign(kv.bytes(), std::byte{0xff});
    exact.assign(exact_kv.bytes(), std::byte{0xff});
    for (uint32_t s = 0; s < last.size(); ++s) {
      for (uint32_t p = 0; static_cast<int32_t>(p) <= last[s]; ++p) {
        const uint32_t page = step.pages[s * step.pages_per_sequence + p / kPageTokens];
        for (uint32_t h = 0; h < kv.n_kv_heads; ++h) {
          const uint64_t row = kv_row(kv, page, h, p % kPageTokens);
          const float* values = &draws[(row * 131) % (draws.size() - kv.head_dim)];
          kv_store_ref(kv, cache.data(), row, values);
          kv_store_ref(exact_kv, exact.data(), row, values);
        }
      }
    }
  }
};

// Rows of `columns` elements from their int8 form (matmul/activations.wgsl), whose sums must be
// those of the bytes.
std::vector<float> from_bytes(const std::vector<uint32_t>& words, uint32_t max_rows, uint32_t rows,
                              uint32_t columns) {
  const uint32_t units = columns / 32;
  std::vector<float> values(size_t{rows} * columns);
  for (uint32_t m = 0; m < rows; ++m) {
    for (uint32_t u = 0; u < units; ++u) {
      const uint32_t* header = &words[((max_rows * 2 + m) * units + u) * 4];
      const float scale = std::bit_cast<float>(header[0]);
      for (uint32_t half = 0; half < 2; ++half) {
        int sum = 0;
        for (uint32_t i = 0; i < 16; ++i) {
          const uint32_t word = words[((m * 2 + half) * units + u) * 4 + i / 4];
          const auto byte = static_cast<int8_t>(word >> (8 * (i % 4)));
          sum += byte;
          values[size_t{m} * columns + u * 32 + half * 16 + i] = scale * static_cast<float>(byte);
        }
        CHECK(std::bit_cast<float>(header[1 + half]) == scale * static_cast<float>(sum));
      }
    }
  }
  return values;
}

struct Errors {
  double stored = 0;  // NMSE against the reference on the same, already rounded cache
  double exact = 0;   // against the reference on the cache before rounding
};

Errors run(const AttentionCase& c, test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return {};
  test::TestStep step(c.positions, c.sequences, c.pages);
  step.n_splits = c.n_splits;
  step.n_singles = c.n_singles;
  step.places = c.places;
  const Caches caches(c, step);
  const uint32_t n_heads = c.group * c.n_kv_heads;
  const std::vector<float> q =
      test::normal(size_t{step.n_tokens()} * n_heads * c.head_dim, 1, c.q_scale);

  AttentionArgs args;
  args.label = "attn";
  args.step = gpu->upload(step.words());
  args.pages = gpu->upload(step.pages);
  args.q = gpu->upload(q);
  args.k_cache = gpu->upload_bytes(caches.k);
  args.v_cache = c.shares_cache ? args.k_cache : gpu->upload_bytes(caches.v);
  const uint32_t v_dim = c.v_dim != 0 ? c.v_dim : c.head_dim;
  const std::vector<float> sinks = test::normal(n_heads, 6, 3.0f);
  if (c.has_sinks) args.sinks = gpu->upload(sinks);
  const auto biases = test::normal(size_t{n_heads} * (2 * c.bias_reach + 1), 8, 2.0f);
  if (c.bias_reach > 0) args.biases = gpu->upload(biases);
  args.bias_reach = c.bias_reach;
  args.v_dim = c.v_dim;
  args.causal = c.causal;
  args.places = !c.places.empty();
  args.out = gpu->output(q.size() / c.head_dim * v_dim * 4);
  args.kv = caches.kv;
  args.n_heads = n_heads;
  args.pages_per_sequence = step.pages_per_sequence;
  args.scale = 1.0f / (c.q_scale * c.kv_scale * std::sqrt(static_cast<float>(c.head_dim)));
  args.softcap = c.softcap;
  args.max_alibi_bias = c.max_alibi_bias;
  args.window = c.window;
  args.chunks = c.chunks;
  args.max_rows = c.max_rows;
  args.max_singles = c.max_singles;
  args.numerics = c.numerics;
  gpu::DeviceInfo device = gpu->info();
  if (c.workgroup_bytes != 0)
    device.limits.max_workgroup_bytes =
        std::min(device.limits.max_workgroup_bytes, c.workgroup_bytes);
  if (c.taken_for_gpu) device.type = gpu::AdapterType::kDiscrete;
  if (c.hands_bytes) {
    if (!attention_hands(device, args)) {
      MESSAGE("SKIPPED: this device has no subgroups of eight");
      return {};
    }
    args.hands_bytes = true;
  }
  REQUIRE(c.n_splits <= attention_max_splits(device, args));
  args.scratch = gpu->output(std::max<uint64_t>(4, attention_scratch_bytes(device, args)));
  std::vector<KernelCall> calls;
  const auto described = attention(device, args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  gpu->run(calls, {.n_tokens = step.n_tokens(),
                   .n_outputs = 1,
                   .n_splits = c.n_splits,
                   .n_singles = c.n_singles});
  std::vector<float> got(q.size() / c.head_dim * v_dim);
  if (c.hands_bytes) {
    got = from_bytes(gpu->read<uint32_t>(args.out), c.max_rows, step.n_tokens(), n_heads * v_dim);
  } else {
    got = gpu->read<float>(args.out);
  }

  std::vector<float> want(got.size());
  AttentionCpuArgs ref;
  ref.step = step.cpu();
  ref.q = q.data();
  ref.k_cache = caches.k.data();
  ref.v_cache = c.shares_cache ? caches.k.data() : caches.v.data();
  ref.v_dim = c.v_dim;
  ref.sinks = c.has_sinks ? sinks.data() : nullptr;
  ref.causal = c.causal;
  ref.out = want.data();
  ref.kv = caches.kv;
  ref.n_heads = n_heads;
  ref.scale = args.scale;
  ref.softcap = c.softcap;
  ref.max_alibi_bias = c.max_alibi_bias;
  ref.biases = c.bias_reach > 0 ? biases.data() : nullptr;
  ref.bias_reach = c.bias_reach;
  ref.window = c.window;
  ref.chunks = c.chunks;
  attention_ref(ref);
  Errors errors{test::nmse(got, want), 0};
  ref.k_cache = caches.exact_k.data();
  ref.v_cache = c.shares_cache ? caches.exact_k.data() : caches.exact_v.data();
  ref.kv = caches.exact_kv;
  attention_ref(ref);
  errors.exact = test::nmse(got, want);
  return errors;
}

constexpr test::Features kBoth[] = {test::Features::kAll, test::Features::kBaseline};

void check_on(const AttentionCase& c, test::Features features) {
  CAPTURE(c.head_dim);
  CAPTURE(c.group);
  CAPTURE(int(c.type));
  CAPTURE(c.window);
  CAPTURE(c.softcap);
  CAPTURE(c.n_splits);
  CAPTURE(c.positions.front());
  CAPTURE(c.positions.size());
  CAPTURE(int(features));
  const Errors errors = run(c, features);
  // A byte is off by at most a half of a unit's largest / 127, about 3 times its deviation: squares
  // of (3 / 127)^2 / 12 of it.
  if (c.hands_bytes) {
    CHECK(errors.stored < 6e-5);
    return;
  }
  CHECK(errors.stored < (c.numerics == Numerics::kFast ? 1e-6 : 1e-10));  // f16 q and weights
  // q4_0: codes are an eighth of a block's largest apart, about 0.3 of the deviation, so K and V
  // are off by 0.09 of it, 0.8 % of their squares each; the softmax of the scores adds as much
  // again.
  CHECK(errors.exact < (c.type == KvType::kF32    ? 1e-10
                        : c.type == KvType::kF16  ? 1e-6
                        : c.type == KvType::kQ8_0 ? 1e-4
                                                  : 3e-2));
}
void check(const AttentionCase& c) {
  for (const test::Features features : kBoth) check_on(c, features);
}

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0};

TEST_CASE("decode attention on the GPU is right for every head size, group and cache type") {
  for (const KvType type : kTypes) {
    for (const uint32_t head_dim : {32u, 36u, 64u, 80u, 96u, 128u, 256u}) {
      if (is_block(type) && head_dim % 32 != 0) continue;
      AttentionCase c;
      c.type = type;
      c.head_dim = head_dim;
      c.positions = {77};
      check(c);
      c.n_splits = 3;
      check(c);
    }
  }
  for (const uint32_t group : {1u, 2u, 4u, 7u, 8u, 12u}) {
    AttentionCase c;
    c.type = KvType::kF16;
    c.group = group;
    c.positions = {120};
    c.n_splits = 2;
    check(c);
  }
}

TEST_CASE("decode attention on the GPU is right around the edges of pages and splits") {
  for (const int32_t position : {0, 1, 30, 31, 32, 63, 64, 127, 128, 129, 511, 1000}) {
    for (const uint32_t n_splits : {1u, 2u, 5u, 64u}) {
      AttentionCase c;
      c.pages = 32;
      c.n_kv_heads = 1;
      c.head_dim = 32;
      c.positions = {position};
      c.n_splits = n_splits;
      check(c);
      c.window = 40;
      check(c);
    }
  }
}

TEST_CASE("decode attention on the GPU serves rows of several sequences and lengths") {
  for (const KvType type : kTypes) {
    AttentionCase c;
    c.type = type;
    c.max_rows = 8;
    c.positions = {5, 300, 64, 0, 299, 31};
    c.sequences = {0, 1, 2, 3, 1, 4};
    for (const uint32_t n_splits : {1u, 8u}) {
      c.n_splits = n_splits;
      c.softcap = type == KvType::kF16 ? 5.0f : 0.0f;
      c.window = type == KvType::kF16 ? 33 : 0;
      check(c);
    }
  }
}

TEST_CASE("decode attention on the GPU leaves int8 for the product after it") {
  for (const uint32_t head_dim : {32u, 64u, 96u, 128u, 256u}) {
    for (const uint32_t group : {1u, 3u, 8u}) {
      AttentionCase c;
      c.hands_bytes = true;
      c.head_dim = head_dim;
      c.group = group;
      c.max_rows = 8;
      c.positions = {5, 300, 64, 0, 299};
      c.sequences = {0, 1, 2, 3, 1};
      for (const uint32_t n_splits : {1u, 8u}) {
        c.n_splits = n_splits;
        c.type = n_splits == 1 ? KvType::kF16 : KvType::kQ8_0;
        check_on(c, test::Features::kAll);
      }
    }
  }
}

AttentionCase prefill(uint32_t head_dim, KvType type, int32_t first, uint32_t n) {
  AttentionCase c;
  c.head_dim = head_dim;
  c.type = type;
  c.max_rows = 512;
  c.group = 2;
  c.n_kv_heads = 1;
  c.positions.clear();
  for (uint32_t i = 0; i < n; ++i) c.positions.push_back(first + static_cast<int32_t>(i));
  c.sequences.assign(n, 0);
  return c;
}

TEST_CASE("prefill attention on the GPU is right for every head size and cache type") {
  for (const KvType type : kTypes) {
    for (const uint32_t head_dim : {32u, 36u, 64u, 80u, 96u, 128u, 256u}) {
      if (is_block(type) && head_dim % 32 != 0) continue;
      const test::Features features =
          kBoth[head_dim / 32 % 2];  // the path without subgroups differs in one reduction
      check_on(prefill(head_dim, type, 0, 70), features);
      check_on(prefill(head_dim, type, 45, 33), features);
    }
  }
}

TEST_CASE(
    "prefill attention on the GPU is right in the tile shapes of devices with little workgroup "
    "memory") {
  for (const uint32_t bytes : {16384u, 12288u, 9216u}) {
    for (const uint32_t head_dim : {64u, 128u}) {
      AttentionCase c = prefill(head_dim, KvType::kF16, 3, 65);
      c.workgroup_bytes = bytes;
      check_on(c, test::Features::kAll);
    }
  }
}

// Small tiles but for one case: a software adapter, taken for a GPU here, compiles halves slowly.
TEST_CASE("prefill attention on the GPU multiplies halves where the numerics are fast") {
  const auto halves = [](AttentionCase c, uint32_t workgroup_bytes) {
    c.numerics = Numerics::kFast;
    c.taken_for_gpu = true;
    c.workgroup_bytes = workgroup_bytes;
    check_on(c, test::Features::kAll);
  };
  constexpr uint32_t kSmallTiles = 4096;
  halves(prefill(64, KvType::kF16, 700, 70), 0);
  halves(prefill(128, KvType::kQ4_0, 700, 70), kSmallTiles);
  halves(prefill(80, KvType::kF16, 300, 33), kSmallTiles);
  AttentionCase c = prefill(32, KvType::kQ8_0, 300, 65);
  c.window = 50;
  c.softcap = 3.0f;
  c.q_scale = 1e6f;  // as halves, q is divided first
  halves(c, kSmallTiles);
  c = prefill(64, KvType::kF16, 300, 33);
  c.kv_scale = 1e4f;
  c.has_sinks = true;
  halves(c, kSmallTiles);
}

TEST_CASE("prefill attention on the GPU keeps windows, soft caps and odd lengths") {
  for (const uint32_t n : {17u, 31u, 32u, 63u, 64u, 65u, 129u}) {
    AttentionCase c = prefill(64, KvType::kF16, 0, n);
    c.pages = 11;
    check_on(c, test::Features::kAll);
    c.window = 20;
    check_on(c, test::Features::kAll);
    c = prefill(64, KvType::kF32, 200, n);
    c.pages = 11;
    c.window = 50;
    c.softcap = 3.0f;
    check(c);
    c.chunks = true;
    check(c);
  }
}

TEST_CASE("prefill attention on the GPU keeps the rows of several sequences apart") {
  AttentionCase c = prefill(64, KvType::kF16, 10, 100);
  for (size_t i = 60; i < 100;
       ++i) {  // a second prompt from row 60 on, then decode rows of two others
    c.sequences[i] = 1;
    c.positions[i] = static_cast<int32_t>(i) - 60;
  }
  c.sequences[98] = 2;
  c.positions[98] = 300;
  c.sequences[99] = 3;
  c.positions[99] = 0;
  check(c);
  for (size_t i = 0; i < 100; ++i) {  // interleaved
    c.sequences[i] = static_cast<uint32_t>(i % 3);
    c.positions[i] = static_cast<int32_t>(i / 3);
  }
  check(c);
}

TEST_CASE("texts that are written beside a prompt attend as in a decode on the GPU") {
  for (const KvType type : {KvType::kF32, KvType::kQ8_0}) {
    AttentionCase c = prefill(64, type, 10, 70);
    const std::vector<int32_t> positions = {5, 300, 64, 0, 299};
    for (uint32_t i = 0; i < positions.size(); ++i) {
      c.positions[i] = positions[i];
      c.sequences[i] = i + 1;
    }
    c.window = type == KvType::kQ8_0 ? 33 : 0;
    c.max_singles = 16;
    for (const uint32_t n_singles : {5u, 2u, 0u}) {
      c.n_singles = n_singles;
      for (const uint32_t n_splits : {1u, 4u}) {
        c.n_splits = n_splits;
        check(c);
      }
    }
  }
}

TEST_CASE("sinks take part in the softmax on the GPU") {
  AttentionCase c;
  c.has_sinks = true;
  c.positions = {200};
  c.pages = 8;
  for (const uint32_t n_splits : {1u, 3u}) {
    c.n_splits = n_splits;
    check(c);
  }
  c = prefill(64, KvType::kF16, 3, 65);
  c.has_sinks = true;
  c.window = 20;
  check(c);
}

TEST_CASE("ALiBi takes the distance off the scores in every kind of step on the GPU") {
  for (const uint32_t group : {2u, 3u}) {  // six heads have slopes beyond the largest power of two
    AttentionCase c;
    c.group = group;
    c.max_alibi_bias = 8;
    for (const uint32_t head_dim : {36u, 64u}) {
      c.head_dim = head_dim;
      c.max_rows = 1;
      c.positions = {300};
      c.sequences = {0};
      c.pages = 16;
      c.n_splits = 3;
      check(c);
      c.n_splits = 1;
      c.max_rows = 512;
      c.positions.resize(150);
      std::iota(c.positions.begin(), c.positions.end(), 60);
      c.sequences.assign(150, 0);
      for (const uint32_t window : {0u, 40u}) {
        c.window = window;
        check(c);
      }
      c.window = 0;
    }
    c.causal = false;
    c.max_rows = 128;
    c.positions.resize(90);
    std::iota(c.positions.begin(), c.positions.end(), 0);
    c.sequences.assign(90, 0);
    check(c);
  }
}

TEST_CASE("biases by distance are added to the scores in every kind of step on the GPU") {
  for (const uint32_t head_dim : {36u, 64u}) {
    AttentionCase c;
    c.head_dim = head_dim;
    for (const uint32_t reach : {1u, 20u, 128u}) {
      c.bias_reach = reach;
      c.causal = true;
      c.max_rows = 1;
      c.positions = {300};
      c.sequences = {0};
      c.pages = 16;
      c.n_splits = 3;
      check(c);
      c.n_splits = 1;
      c.max_rows = 512;
      c.positions.resize(150);
      std::iota(c.positions.begin(), c.positions.end(), 60);
      c.sequences.assign(150, 0);
      c.window = reach == 20 ? 40 : 0;
      check(c);
      c.window = 0;
      c.causal = false;
      std::iota(c.positions.begin(), c.positions.begin() + 90, 0);
      std::iota(c.positions.begin() + 90, c.positions.end(), 0);
      std::fill(c.sequences.begin() + 90, c.sequences.end(), 1);
      check(c);
    }
  }
  AttentionCase one;  // a text of one token
  one.causal = false;
  one.bias_reach = 20;
  check(one);
}

TEST_CASE("rows that are not causal see all rows of their sequence on the GPU") {
  AttentionCase c = prefill(32, KvType::kF32, 0, 150);
  c.pages = 6;
  c.causal = false;
  check(c);
  for (size_t i = 90; i < 150; ++i) {
    c.sequences[i] = 1;
    c.positions[i] = static_cast<int32_t>(i) - 90;
  }
  check(c);
  for (const uint32_t window : {1u, 2u, 9u, 33u, 400u}) {
    c.window = window;
    check(c);
  }
  c = AttentionCase{};
  c.causal = false;
  c.max_rows = 8;
  c.positions = {0, 1, 2, 3, 4};
  c.sequences = {0, 0, 0, 0, 0};
  check(c);
  c.window = 2;
  check(c);
  c.positions = {0};
  c.sequences = {0};
  c.max_rows = 1;
  check(c);
}

// Rows [begin, end) of a step attend to each other.
void see_each_other(AttentionCase& c, uint32_t begin, uint32_t end) {
  c.places.resize(c.positions.size());
  for (uint32_t t = begin; t < end; ++t) {
    c.places[t].before = t - begin;
    c.places[t].after = end - 1 - t;
  }
}

TEST_CASE("rows that see those around them do so in every kind of step on the GPU") {
  for (const uint32_t window : {0u, 5u, 24u}) {
    // A prompt: over tiles, in a run behind another sequence's rows, at both ends of it.
    AttentionCase c = prefill(64, KvType::kF16, 17, 130);
    c.window = window;
    see_each_other(c, 3, 12);
    see_each_other(c, 40, 120);
    check(c);
    c = prefill(64, KvType::kF32, 0, 70);
    c.window = window;
    c.positions.insert(c.positions.begin(), 9);
    c.sequences.insert(c.sequences.begin(), 1);
    see_each_other(c, 1, 71);
    check(c);
    // Few rows, each by itself over splits of its keys.
    c = {};
    c.window = window;
    c.max_rows = 8;
    c.positions = {60, 61, 62, 63, 64, 65, 4};
    c.sequences = {0, 0, 0, 0, 0, 0, 1};
    see_each_other(c, 1, 5);
    for (const uint32_t n_splits : {1u, 3u}) {
      c.n_splits = n_splits;
      check(c);
    }
  }
}

TEST_CASE("values may be shorter than keys, and part of them, on the GPU") {
  for (const KvType type : kTypes) {
    for (const bool shared : {false, true}) {
      AttentionCase c;
      c.type = type;
      c.n_kv_heads = 1;
      c.head_dim = 576;
      c.v_dim = 512;
      c.shares_cache = shared;
      c.positions = {100};
      c.n_splits = 2;
      check(c);
      c = prefill(192, type, 45, 33);
      c.v_dim = 128;
      c.shares_cache = shared;
      check(c);
    }
    AttentionCase c = prefill(576, type, 5, 33);
    c.v_dim = 512;
    c.shares_cache = true;
    check(c);
  }
}

TEST_CASE("prefill attention by matrix units is right for every head size, edge and sequence") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  AttentionArgs args;
  args.kv = {KvType::kF16, 4, 1, 64};
  args.n_heads = 2;
  args.max_rows = 512;
  args.numerics = Numerics::kFast;
  const auto tuning = attention_tuning(gpu->info(), args);
  REQUIRE(tuning.has_value());
  if (!tuning->matrix) {
    MESSAGE("SKIPPED: this device has no matrix units");
    return;
  }
  test::EveryNth cases(gpu->info(), 9);
  const auto fast = [&](AttentionCase c) {
    c.numerics = Numerics::kFast;
    // A head's fragments are unrolled, which takes a slow compiler a minute for long heads.
    const bool is_quick = !gpu->info().slow_compiler || c.head_dim <= 64;
    if (is_quick && cases.takes_next()) check_on(c, test::Features::kAll);
  };
  for (const KvType type : {KvType::kF16, KvType::kQ8_0}) {
    for (const uint32_t head_dim : {32u, 64u, 80u, 96u, 128u, 256u}) {
      if (type == KvType::kQ8_0 && head_dim % 32 != 0) continue;
      fast(prefill(head_dim, type, 0, 70));
      fast(prefill(head_dim, type, 45, 33));
    }
  }
  AttentionCase c = prefill(192, KvType::kF16, 45, 33);
  c.v_dim = 128;
  fast(c);
  for (const uint32_t n : {17u, 32u, 63u, 65u, 129u}) {
    c = prefill(64, KvType::kF16, 200, n);
    c.pages = 11;
    c.window = 50;
    fast(c);
    c.softcap = 3.0f;
    c.has_sinks = true;
    fast(c);
  }
  c = prefill(64, KvType::kF16, 10, 100);
  for (size_t i = 60; i < 100; ++i) {
    c.sequences[i] = i < 98 ? 1 : static_cast<uint32_t>(i) - 96;
    c.positions[i] = i == 98 ? 300 : i == 99 ? 0 : static_cast<int32_t>(i) - 60;
  }
  fast(c);
  for (size_t i = 0; i < 100; ++i) {
    c.sequences[i] = static_cast<uint32_t>(i % 3);
    c.positions[i] = static_cast<int32_t>(i / 3);
  }
  fast(c);
  for (const uint32_t window : {0u, 5u, 50u}) {
    c = prefill(64, KvType::kF16, 17, 130);
    c.window = window;
    see_each_other(c, 3, 12);
    see_each_other(c, 40, 120);
    fast(c);
  }
}

}  // namespace
}  // namespace puna::kernels
