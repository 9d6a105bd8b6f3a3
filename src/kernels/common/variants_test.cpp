// Every variant of the roles without weights expands, without a GPU: a template and the defines its
// role gives cannot drift apart.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/sanitized.h"
#include "kernels/attention/attention.h"
#include "kernels/common/call.h"
#include "kernels/conv/conv.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/copy/copy.h"
#include "kernels/delta/delta.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/unary.h"
#include "kernels/embed/add_media.h"
#include "kernels/gather/gather.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/image/image.h"
#include "kernels/mrope/mrope.h"
#include "kernels/norm/norm.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rope/rope.h"
#include "kernels/rows/rows.h"
#include "kernels/sample/sample.h"
#include "kernels/scan/scan.h"
#include "kernels/shift/shift.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sort/sort.h"
#include "kernels/ssd/ssd.h"
#include "kernels/testing/every_operation.h"
#include "kernels/wkv/wkv.h"

namespace puna::kernels {
namespace {

// The kinds of device whose variants differ: none of the options, and subgroups of three sizes with
// more workgroup memory.
std::vector<gpu::DeviceInfo> devices() {
  std::vector<gpu::DeviceInfo> all(1);
  for (const uint32_t size : {4u, 8u, 32u}) {
    gpu::DeviceInfo info;
    info.subgroups = true;
    info.subgroup_min = info.subgroup_max = size;
    info.limits.max_workgroup_bytes = 49152;
    all.push_back(info);
  }
  return all;
}

// Expands the calls and checks what WebGPU would refuse: more than eight bindings, a binding left
// unused, a directive left over.
void check_expands(const std::vector<KernelCall>& calls, const gpu::DeviceInfo& device) {
  CHECK(!calls.empty());
  for (const KernelCall& call : calls) {
    CAPTURE(call.label);
    CAPTURE(call.kernel);
    CAPTURE(device.subgroup_min);
    const auto text = expand(call, device);
    REQUIRE_MESSAGE(text, text.error().text());
    CHECK(call.bindings.size() <= device.limits.max_storage_buffers);
    for (size_t i = 0; i < call.bindings.size(); ++i) {
      const bool writes = call.bindings[i].access == gpu::Access::kReadWrite;
      const std::string declared =
          "@binding(" + std::to_string(i) + ") var<storage, " + (writes ? "read_write>" : "read>");
      CHECK_MESSAGE(text->find(declared) != std::string::npos, declared);
    }
    CHECK(text->find("##") == std::string::npos);
    CHECK(text->find("@workgroup_size(") != std::string::npos);
    CHECK(text->find("bitcast<vec2<f16>>") == std::string::npos);
  }
}

TEST_CASE("every norm variant expands") {
  for (const gpu::DeviceInfo& device : devices()) {
    for (const uint32_t n : {1u, 576u, 577u, 16384u}) {
      for (int options = 0; options < 8; ++options) {
        NormArgs args{.label = "norm", .n = n};
        if (options & 1) args.post_gamma = Slice{};
        if (options & 2) args.residual = Slice{};
        if (options & 4) args.gamma = args.y = Slice{};
        std::vector<KernelCall> calls;
        REQUIRE(rms_norm(device, args, calls));
        check_expands(calls, device);
      }
    }
  }
}

TEST_CASE("every rope variant expands") {
  for (const gpu::DeviceInfo& device : devices()) {
    for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
      for (const uint32_t n_rot : {0u, 32u, 64u}) {
        for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
          for (const bool norms : {false, true}) {
            RopeArgs args{
                .label = "rope", .kv = {type, 4, 2, 64}, .n_heads = 4, .pages_per_sequence = 2};
            args.rope.n_rot = n_rot;
            args.rope.pairs = pairs;
            if (n_rot > 0) args.table = Slice{};
            if (norms) args.head_norms = Slice{};
            std::vector<KernelCall> calls;
            REQUIRE(rope_append(device, args, calls));
            if (n_rot == 32) {
              args.rope.sections = {{6, 5, 5}, SectionOrder::kByThrees};
              REQUIRE(rope_append(device, args, calls));
            }
            check_expands(calls, device);
          }
        }
      }
    }
  }
}

TEST_CASE("every attention variant expands, and fits the device") {
  size_t n = 0;
  for (const gpu::DeviceInfo& device : devices()) {
    for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
      for (const uint32_t head_dim : {32u, 36u, 64u, 80u, 96u, 128u, 256u}) {
        if (is_block(type) && head_dim % 32 != 0) continue;
        for (const uint32_t group : {1u, 3u, 8u, 16u}) {
          for (const uint32_t max_rows : {1u, 16u, 512u}) {
            // All take a minute and a half with sanitizers. Of 3, 4 and 7 values in turn every
            // fifth has each of them.
            if (n++ % base::kOneOf != 0) continue;
            AttentionArgs args{.label = "attn",
                               .kv = {type, 4, 2, head_dim},
                               .n_heads = 2 * group,
                               .pages_per_sequence = 2};
            args.max_rows = max_rows;
            args.softcap = group == 3 ? 50.0f : 0.0f;
            args.window = group == 8 ? 40 : 0;
            std::vector<KernelCall> calls;
            REQUIRE(attention(device, args, calls));
            CHECK(calls.size() == (max_rows > 16 ? 1 : 3));
            AttentionArgs around = args;
            around.places = true;
            REQUIRE(attention(device, around, calls));
            check_expands(calls, device);

            args.append = AttentionAppend{.table = Slice{}, .rope = {.n_rot = head_dim}};
            if (group == 3) args.append->head_norms = Slice{};
            if (group == 8) args.append->rope.pairs = RopePairs::kAdjacent;
            calls.clear();
            const bool appends = attention_appends(device, args);
            CHECK(attention(device, args, calls).has_value() == appends);
            args.append->rope.sections = {{head_dim / 2, 0, 0}, SectionOrder::kInTurn};
            if (appends) REQUIRE(attention(device, args, calls));
            if (appends) check_expands(calls, device);
          }
        }
      }
    }
  }
}

TEST_CASE("the remaining roles expand") {
  for (const gpu::DeviceInfo& device : devices()) {
    for (const uint32_t n : {1u, 7u, 576u}) {
      std::vector<KernelCall> calls;
      REQUIRE(scale(device, {.label = "scale", .n = n, .scale = 1e-7f}, calls));
      REQUIRE(softcap(device, {.label = "cap", .n = n, .cap = 30}, calls));
      REQUIRE(glu(device, {.label = "swiglu", .n = n, .activation = Activation::kSilu}, calls));
      REQUIRE(glu(device, {.label = "geglu", .n = n, .activation = Activation::kGeluTanh}, calls));
      REQUIRE(gather_rows(device, {.label = "gather", .n = n}, calls));
      REQUIRE(sample(device, {.label = "sample", .vocab = n, .context = 32}, calls));
      REQUIRE(
          sample(device, {.label = "sample", .vocab = n, .context = 32, .places = true}, calls));
      REQUIRE(
          add_media(device, {"add", {}, {}, {}, {.n = n, .first = n, .columns = 2 * n}}, calls));
      check_expands(calls, device);
    }
  }
}

TEST_CASE("every variant of the roles with state expands, and its gate and norm") {
  for (const gpu::DeviceInfo& device : devices()) {
    for (const uint32_t max_rows : {1u, 16u, 512u}) {
      std::vector<KernelCall> calls;
      for (const ConvForm form : {ConvForm::kPlain, ConvForm::kSilu, ConvForm::kGated}) {
        for (const bool bias : {false, true}) {
          ConvArgs args{.label = "conv", .shape = {70, 4, 210, 0, bias, form}};
          args.max_rows = max_rows;
          REQUIRE(conv(device, args, calls));
        }
      }
      REQUIRE(ssd(device,
                  {.label = "ssd", .shape = {4, 64, 128, 2, 260, 256, 0}, .max_rows = max_rows},
                  calls));
      for (const uint32_t n_state : {16u, 36u, 256u}) {
        REQUIRE(scan(device,
                     {.label = "scan", .shape = {70, n_state, 140, 70}, .max_rows = max_rows},
                     calls));
      }
      for (const bool tiled : {false, true}) {
        REQUIRE(delta(
            device,
            {.label = "delta", .shape = {2, 4, 128, 128, tiled, 8, 0, 4, 2}, .max_rows = max_rows},
            calls));
      }
      ShiftArgs mix{.label = "shift", .shape = {64, 128}, .max_rows = max_rows};
      REQUIRE(shift(device, mix, calls));
      mix.by = Slice{};
      mix.shape = {64, 0, 192, 64, /*keeps=*/true};
      REQUIRE(shift(device, mix, calls));
      WkvArgs recurrence{.label = "wkv", .max_rows = max_rows};
      for (const uint32_t head_dim : {12u, 64u, 256u}) {
        recurrence.extra.reset();
        recurrence.shape = {WkvRule::kSix, 2, head_dim, 12 * head_dim};
        REQUIRE(wkv(device, recurrence, calls));
        recurrence.extra = Slice{};
        recurrence.shape.rule = WkvRule::kSeven;
        REQUIRE(wkv(device, recurrence, calls));
        recurrence.shape.mixes_values = true;
        REQUIRE(wkv(device, recurrence, calls));
      }
      for (const uint32_t n_gates : {1u, 64u})
        REQUIRE(gate(device, {.label = "gate", .n = 64, .n_gates = n_gates}, calls));
      GroupNormArgs norm{.label = "norm", .shape = {256, 2, 128, 300, 44}};
      REQUIRE(group_norm(device, norm, calls));
      norm.gate = Slice{};
      REQUIRE(group_norm(device, norm, calls));
      check_expands(calls, device);
    }
  }
}

TEST_CASE("every single operation expands") {
  for (const gpu::DeviceInfo& device : devices()) {
    const auto calls = test::every_operation(device);
    REQUIRE_MESSAGE(calls, calls.error().text());
    check_expands(*calls, device);
  }
}

TEST_CASE("single operations that no kernel can serve are refused") {
  const gpu::DeviceInfo device;
  std::vector<KernelCall> calls;
  CHECK(!unary(device, {"u", {}, {Unary::kAbs, 0}}, calls));
  CHECK(!binary(device, {"b", {}, {}, {Binary::kAdd, 4, Spread::kElements, 2, 2}}, calls));
  CHECK(!reduce(device, {"r", {}, {}, {Reduction::kSum, 0}}, calls));
  CHECK(!softmax(device, {"s", {}, {}, {}, {}, {4, 0}}, calls));
  CHECK(!sort_indices(device, {"s", {}, {}, {4, 5}}, calls));
  CHECK(!sort_indices(device, {"s", {}, {}, {kMaxSorted + 1, 5}}, calls));
  CHECK(!move_rows(device, {"r", {}, {}, {}, {RowMove::kTake, 1 << 20, 1 << 20}}, calls));
  CHECK(!hadamard(device, {"h", {}, {96}}, calls));
  CHECK(!mrope(device, {"m", {}, {}, {}, {{}, {1, 1, 0, 0}, SectionOrder::kInTurn, 2}}, calls));
  CHECK(!hadamard(device, {"h", {}, {2 * kMaxHadamard}}, calls));
  CHECK(!resize(device, {"r", {}, {}, {{1, 0, 4, 1, 4, 4}}}, calls));
  CHECK(!resize(device, {"r", {}, {}, {{1, 20000, 4, 1, 4, 4}}}, calls));
  CHECK(!pad(device, {"p", {}, {}, {{1, 4, 4, 1, 5, 5}, 2, 0}}, calls));
  CHECK(!pad(device, {"p", {}, {}, {{1, 4, 4, 1, 8, 4}, 0, 0, Pad::kReflect}}, calls));
  CopyShape shape = permuted({4, 3}, {0, 1});
  shape.y_type = Element::kHalf;
  const auto odd = copy(device, {"cache", {}, {}, shape, {}}, calls);
  REQUIRE(!odd);
  CHECK(odd.error().text() ==
        "Copy cache writes f16 in rows of 3 elements at steps of 1; they must be whole words.");
  shape.sizes = {0, 4};
  CHECK(!copy(device, {"c", {}, {}, shape, {}}, calls));
  shape.sizes = {4};
  CHECK(!copy(device, {"c", {}, {}, shape, {}}, calls));
  CHECK(calls.empty());
}

TEST_CASE("arguments that no kernel can serve are refused with a sentence") {
  const gpu::DeviceInfo device;
  std::vector<KernelCall> calls;
  CHECK(!rms_norm(device, {.label = "n", .n = 0}, calls));
  CHECK(!rms_norm(device, {.label = "n", .gamma = Slice{}, .n = 4}, calls));
  CHECK(!softcap(device, {.label = "s", .n = 4, .cap = 0}, calls));
  RopeArgs rope{.label = "blk.0.rope", .kv = {KvType::kF16, 4, 2, 64}, .n_heads = 4};
  rope.rope.n_rot = 63;
  const auto odd = rope_append(device, rope, calls);
  REQUIRE(!odd);
  CHECK(odd.error().text() ==
        "Rope blk.0.rope rotates 63 of 64 elements; it must be an even number of at most all.");
  rope.rope.n_rot = 64;
  CHECK(!rope_append(device, rope, calls));  // no table
  CHECK(!conv(device, {.label = "c", .shape = {8, 9, 8}}, calls));
  CHECK(!ssd(device, {.label = "s", .shape = {3, 64, 128, 2}}, calls));
  CHECK(!scan(device, {.label = "s", .shape = {64, 18}}, calls));
  CHECK(!scan(device, {.label = "s", .shape = {64, 260}}, calls));
  CHECK(!delta(device, {.label = "d", .shape = {2, 4, 260, 64}}, calls));
  CHECK(!shift(device, {.label = "s", .shape = {66}}, calls));
  CHECK(!shift(device, {.label = "s", .shape = {64, 32}}, calls));
  CHECK(!wkv(device, {.label = "w", .shape = {WkvRule::kSix, 1, 260, 780}}, calls));
  CHECK(!wkv(device, {.label = "w", .shape = {WkvRule::kSix, 2, 64, 380}}, calls));
  CHECK(!gate(device, {.label = "g", .n = 8, .n_gates = 2}, calls));
  CHECK(!group_norm(device, {.label = "g", .shape = {9, 2}}, calls));
  AttentionArgs attn{.label = "a", .kv = {KvType::kQ8_0, 4, 2, 48}, .n_heads = 4};
  CHECK(!attention(device, attn, calls));
  attn.kv = {KvType::kF16, 4, 3, 64};
  CHECK(!attention(device, attn, calls));
  attn.kv = {KvType::kF16, 4, 2, 64};
  attn.max_rows = kStepRoom + 1;
  CHECK(!attention(device, attn, calls));
  CHECK(calls.empty());
}

TEST_CASE("short contexts are one split, long ones as many as the class allows") {
  CHECK(attention_splits(64, 1).n_splits == 1);
  CHECK(attention_splits(64, kWholeTokens).n_splits == 1);
  CHECK(attention_splits(64, kWholeTokens + 1).n_splits == kWholeTokens / kSplitTokens + 1);
  CHECK(attention_splits(64, 100'000).n_splits == 64);
  CHECK(attention_splits(1, 100'000).n_splits == 1);
  CHECK(attention_splits(64, kWholeTokens + 1).split_tokens % kPageTokens == 0);
}

TEST_CASE("a step has attention in one split, or in several that are joined") {
  AttentionArgs args{
      .label = "a", .kv = {KvType::kF16, 4, 2, 64}, .n_heads = 4, .pages_per_sequence = 2};
  std::vector<KernelCall> calls;
  REQUIRE(attention(gpu::DeviceInfo{}, args, calls));
  REQUIRE(calls.size() == 3);
  const auto workgroups_of = [&](size_t call, uint32_t n_splits) {
    const StepShape shape{.n_tokens = 3, .n_splits = n_splits};
    return std::vector<uint32_t>{workgroups(calls[call].y, shape),
                                 workgroups(calls[call].z, shape)};
  };
  CHECK(workgroups_of(0, 1) == std::vector<uint32_t>{1, 3});
  CHECK(workgroups_of(0, 2) == std::vector<uint32_t>{0, 3});
  CHECK(workgroups_of(1, 1) == std::vector<uint32_t>{0, 3});
  CHECK(workgroups_of(1, 2) == std::vector<uint32_t>{2, 3});
  CHECK(workgroups_of(2, 1) == std::vector<uint32_t>{3, 0});
  CHECK(workgroups_of(2, 2) == std::vector<uint32_t>{3, 1});
}

}  // namespace
}  // namespace puna::kernels
