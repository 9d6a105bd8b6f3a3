// Decode attention that does the work of rope_append itself, against rope_ref.h and then
// attention_ref.h: what it gives, and every element of both caches.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_ref.h"
#include "kernels/common/test_util.h"
#include "kernels/rope/rope_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_step.h"

namespace puna::kernels {
namespace {

struct AppendCase {
  uint32_t head_dim = 64, group = 3, n_kv_heads = 2;
  KvType type = KvType::kF32;
  RopeParams rope;
  bool norms = false;
  bool v_norm = false;
  uint32_t window = 0;
  bool chunks = false;
  float softcap = 0;
  uint32_t bias_reach = 0;  // 0 = no biases by distance
  uint32_t n_splits = 1;
  int32_t position = 0;
  std::optional<RowPlace> place = {};
  // As where a compiler is fast: steps with one split have a shape of their own.
  bool fast_compiler = false;
};

// The caches before the step: every earlier position filled, the rest NaN, so that reading it
// shows.
std::vector<std::byte> filled(const KvLayout& kv, const test::TestStep& step, uint32_t seed) {
  std::vector<std::byte> cache(kv.bytes(), std::byte{0xff});
  const std::vector<float> draws = test::normal(1 << 16, seed);
  for (uint32_t p = 0; static_cast<int32_t>(p) < step.positions[0]; ++p) {
    for (uint32_t h = 0; h < kv.n_kv_heads; ++h) {
      const uint64_t row = kv_row(kv, step.pages[p / kPageTokens], h, p % kPageTokens);
      kv_store_ref(kv, cache.data(), row, &draws[(row * 131) % (draws.size() - kv.head_dim)]);
    }
  }
  return cache;
}

// Both caches' elements where a position is; slots beyond hold NaN.
void check_cache(const KvLayout& kv, const test::TestStep& step, const std::vector<std::byte>& got,
                 const std::vector<std::byte>& want) {
  std::vector<float> a, b;
  for (uint32_t p = 0; static_cast<int32_t>(p) <= step.positions[0]; ++p) {
    for (uint32_t h = 0; h < kv.n_kv_heads; ++h) {
      const uint64_t row = kv_row(kv, step.pages[p / kPageTokens], h, p % kPageTokens);
      for (uint32_t d = 0; d < kv.head_dim; ++d) {
        a.push_back(kv_load_ref(kv, got.data(), row, d));
        b.push_back(kv_load_ref(kv, want.data(), row, d));
      }
    }
  }
  CHECK(test::nmse(a, b) < (kv.type == KvType::kF32 ? 1e-10 : 1e-8));
  size_t changed = 0;
  for (size_t i = 0; i < got.size(); ++i)
    changed += (got[i] == std::byte{0xff}) != (want[i] == std::byte{0xff});
  CHECK(changed < 8);  // nothing else is written; a byte of a value may be 0xff by chance
}

void check(const AppendCase& c) {
  CAPTURE(c.head_dim);
  CAPTURE(int(c.type));
  CAPTURE(int(c.rope.pairs));
  CAPTURE(c.rope.n_rot);
  CAPTURE(c.norms);
  CAPTURE(c.n_splits);
  CAPTURE(c.position);
  const auto gpu = test::GpuHarness::open(test::Features::kAll);
  if (!gpu) return;
  test::TestStep step({c.position}, {0}, 8);
  step.n_splits = c.n_splits;
  if (c.place) step.places = {*c.place};
  const KvLayout kv{c.type, step.n_pages, c.n_kv_heads, c.head_dim};
  const uint32_t n_heads = c.group * c.n_kv_heads;
  const std::vector<float> qkv = test::normal(size_t{n_heads + 2 * c.n_kv_heads} * c.head_dim, 1);
  const std::vector<float> norms = test::normal(size_t{2} * c.head_dim, 2);
  std::vector<std::byte> k = filled(kv, step, 3), v = filled(kv, step, 4);

  AttentionArgs args;
  args.label = "attn";
  args.step = gpu->upload(step.words());
  args.pages = gpu->upload(step.pages);
  args.k_cache = gpu->upload_bytes(k);
  args.v_cache = gpu->upload_bytes(v);
  args.out = gpu->output(uint64_t{n_heads} * c.head_dim * 4);
  args.kv = kv;
  args.n_heads = n_heads;
  args.pages_per_sequence = step.pages_per_sequence;
  args.scale = 0.125f;
  args.softcap = c.softcap;
  const auto biases = test::normal(size_t{n_heads} * (2 * c.bias_reach + 1), 8, 2.0f);
  if (c.bias_reach > 0) args.biases = gpu->upload(biases);
  args.bias_reach = c.bias_reach;
  args.window = c.window;
  args.chunks = c.chunks;
  args.append = AttentionAppend{.qkv = gpu->upload(qkv), .rope = c.rope};
  if (c.norms) args.append->head_norms = gpu->upload(norms);
  args.append->v_norm = c.v_norm;
  if (c.rope.n_rot > 0) args.append->table = gpu->upload(rope_table(c.rope, nullptr));
  gpu::DeviceInfo device = gpu->info();
  if (c.fast_compiler) device.slow_compiler = false;
  if (!attention_appends(device, args)) {
    MESSAGE("SKIPPED: this adapter's subgroups are too small for heads of " << c.head_dim);
    return;
  }
  args.scratch = gpu->output(std::max<uint64_t>(4, attention_scratch_bytes(device, args)));
  std::vector<KernelCall> calls;
  const auto described = attention(device, args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  if (c.fast_compiler) CHECK(calls.front().defines.contains("WHOLE"));
  gpu->run(calls, {.n_tokens = 1, .n_outputs = 1, .n_splits = c.n_splits});

  std::vector<float> q(size_t{n_heads} * c.head_dim), want(q.size());
  RopeCpuArgs rope;
  rope.step = step.cpu();
  rope.qkv = qkv.data();
  rope.q_norm = c.norms ? norms.data() : nullptr;
  rope.k_norm = c.norms ? norms.data() + c.head_dim : nullptr;
  rope.v_norm = c.v_norm;
  rope.q_out = q.data();
  rope.k_cache = k.data();
  rope.v_cache = v.data();
  rope.kv = kv;
  rope.n_heads = n_heads;
  rope.rope = c.rope;
  rope_append_ref(rope);
  AttentionCpuArgs ref;
  ref.step = step.cpu();
  ref.q = q.data();
  ref.k_cache = k.data();
  ref.v_cache = v.data();
  ref.out = want.data();
  ref.kv = kv;
  ref.n_heads = n_heads;
  ref.scale = args.scale;
  ref.softcap = c.softcap;
  ref.biases = c.bias_reach > 0 ? biases.data() : nullptr;
  ref.bias_reach = c.bias_reach;
  ref.window = c.window;
  ref.chunks = c.chunks;
  attention_ref(ref);
  // A half of the new key that rounds the other way moves a score by a step of f16.
  CHECK(test::nmse(gpu->read<float>(args.out), want) < (c.type == KvType::kF32 ? 1e-10 : 1e-7));
  check_cache(kv, step, gpu->read<std::byte>(args.k_cache), k);
  check_cache(kv, step, gpu->read<std::byte>(args.v_cache), v);
}

TEST_CASE("decode attention that appends is right for both kinds of pairs, norms and cache types") {
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    for (const uint32_t head_dim : {64u, 96u, 128u, 256u}) {
      for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
        AppendCase c;
        c.head_dim = head_dim;
        c.type = type;
        c.position = 77;
        c.rope = {.pairs = pairs, .n_rot = head_dim};
        check(c);
        c.norms = true;
        c.rope.n_rot = head_dim / 2;
        c.n_splits = 3;
        check(c);
      }
    }
  }
}

TEST_CASE("decode attention that appends is right in the shape of steps with one split") {
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      for (const int32_t position : {0, 77, 255}) {
        AppendCase c;
        c.fast_compiler = true;
        c.type = type;
        c.position = position;
        c.rope = {.pairs = pairs, .n_rot = 64};
        c.norms = c.v_norm = position == 77;
        c.window = position == 255 ? 40 : 0;
        check(c);
      }
    }
  }
}

TEST_CASE("decode attention that appends norms values, stretches positions and lets q grow") {
  for (const uint32_t head_dim : {64u, 96u}) {
    AppendCase c;
    c.head_dim = head_dim;
    c.position = 77;
    c.rope = {.n_rot = head_dim,
              .freq_scale = 0.25f,
              .yarn = {32, 32.0f, 1.0f},
              .magnitude = 1.2f,
              .temperature = {0.1f, 32}};
    check(c);
    c.norms = c.v_norm = true;
    c.n_splits = 2;
    check(c);
  }
}

TEST_CASE("decode attention that appends norms heads after the turn") {
  for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
    for (const uint32_t n_rot : {64u, 32u, 0u}) {
      AppendCase c;
      c.position = 63;
      c.norms = true;
      c.rope = {.pairs = pairs, .n_rot = n_rot, .temperature = {0.1f, 32, 1}, .norms_last = true};
      check(c);
    }
  }
}

TEST_CASE("decode attention that appends turns pairs by the coordinates of their sections") {
  for (const SectionOrder order : {SectionOrder::kInTurn, SectionOrder::kByThrees}) {
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      AppendCase c;
      c.position = 77;
      c.norms = true;
      c.rope = {.pairs = pairs, .n_rot = 64, .base = 1e6f};
      c.rope.sections = {{12, 10, 10}, order};
      c.place = {.turns = {-40, -33, -2}};
      check(c);
    }
  }
}

TEST_CASE("decode attention that appends is right at the edges of pages, splits and windows") {
  for (const int32_t position : {0, 1, 31, 32, 63, 64, 130, 255}) {
    for (const uint32_t n_splits : {1u, 2u, 5u}) {
      AppendCase c;
      c.type = KvType::kF16;
      c.position = position;
      c.n_splits = n_splits;
      c.rope = {.n_rot = 64};
      check(c);
      c.window = 33;
      c.softcap = 2;
      check(c);
      c.chunks = true;
      check(c);
    }
  }
  AppendCase biased;
  biased.bias_reach = 20;
  for (const int32_t position : {0, 77}) {
    biased.position = position;
    biased.n_splits = position == 0 ? 1 : 3;
    check(biased);
  }
  AppendCase plain;  // no rotation at all, heads in two chunks
  plain.group = 12;
  plain.position = 40;
  check(plain);
}

}  // namespace
}  // namespace puna::kernels
