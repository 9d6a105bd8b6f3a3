#include "kernels/testing/every_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/attention/attention.h"
#include "kernels/ceiling/ceiling.h"
#include "kernels/common/beside.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embed/add_media.h"
#include "kernels/embed/embed.h"
#include "kernels/gather/gather.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/moe/route.h"
#include "kernels/norm/norm.h"
#include "kernels/profile/profile.h"
#include "kernels/repack/repack.h"
#include "kernels/sample/sample.h"
#include "kernels/shift/shift.h"
#include "kernels/testing/every_operation.h"
#include "kernels/wkv/wkv.h"

namespace puna::kernels::test {
namespace {

using base::Result;
using Calls = std::vector<KernelCall>;

constexpr uint64_t kPlenty = uint64_t{1} << 30;  // of scratch

GpuWeight weight_of(quant::Type type, uint32_t rows, uint32_t cols) {
  return {type, rows, cols, {{{0, 0, quant::row_bytes(type, cols) * rows}, 0, rows}}};
}

MatmulArgs product(std::string label, quant::Type type, uint32_t max_rows, Numerics numerics) {
  MatmulArgs args;
  args.label = std::move(label);
  args.weight = weight_of(type, 256, 512);
  args.y_stride = 256;
  args.numerics = numerics;
  args.max_rows = max_rows;
  args.scratch.bytes = kPlenty;
  return args;
}

// Every type, class and numerics; fast ones with float activations too.
Result<void> products(const gpu::DeviceInfo& device, Calls& out) {
  Profile floats;
  floats.decode = floats.prefill = ActivationChoice{Activations::kFloat, 0, 0};
  for (const MatmulVariant& v : matmul_variants()) {
    MatmulArgs args = product(v.name, v.type, v.max_rows, v.numerics);
    PUNA_TRY(matmul(device, args, out));
    if (v.numerics == Numerics::kFast && v.type == quant::Type::kQ4_0) {
      args.profile = &floats;
      PUNA_TRY(matmul(device, args, out));
    }
  }
  return {};
}

// Epilogues, a bias, the norm made by the product, and a large weight, on one type of each kind.
Result<void> product_options(const gpu::DeviceInfo& device, Calls& out) {
  for (const quant::Type type : {quant::Type::kF16, quant::Type::kQ4_0, quant::Type::kQ6_K}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (const uint32_t max_rows : {1u, 4u, 512u}) {
        for (const Epilogue epilogue : {Epilogue::kAdd, Epilogue::kSwiGlu, Epilogue::kGeGlu,
                                        Epilogue::kSoftcap, Epilogue::kActivate}) {
          MatmulArgs args = product("epilogue", type, max_rows, numerics);
          args.epilogue = epilogue;
          args.softcap = 30;
          if (!is_gated(epilogue)) args.bias = Slice{};
          if (matmul_makes_norm(device, args) && !args.bias) args.norm = MatmulNorm{};
          PUNA_TRY(matmul(device, args, out));
        }
        MatmulArgs fine = product("two planes", type, max_rows, numerics);
        fine.x_planes = 2;
        PUNA_TRY(matmul(device, fine, out));
        MatmulArgs large = product("large", type, max_rows, numerics);
        large.weight = weight_of(type, 131072, 4096);
        large.y_stride = 131072;
        PUNA_TRY(matmul(device, large, out));
      }
    }
  }
  return {};
}

// Products of one x side by side, of types that file mixes put together and of others.
Result<void> pairs(const gpu::DeviceInfo& device, Calls& out) {
  using quant::Type;
  for (const auto& [first, second] : {std::pair{Type::kQ2_K, Type::kQ4_K},
                                      {Type::kQ4_K, Type::kQ6_K},
                                      {Type::kQ8_0, Type::kQ8_0},
                                      {Type::kIQ2_XS, Type::kIQ4_NL},
                                      {Type::kF16, Type::kBf16}}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (const uint32_t max_rows : {1u, 4u}) {
        Calls calls;
        for (const Type type : {first, second}) {
          MatmulArgs args = product("pair", type, max_rows, numerics);
          args.step = {1, 0, 256};
          args.x = {2, 0, 256};
          args.scratch = {2, 256, kPlenty};
          args.x_in_scratch = !calls.empty();
          args.y = {2, kPlenty + 256, 256};
          args.y_stride = 512;
          args.y_column = calls.empty() ? 0 : 256;
          args.weight.chunks[0].slice.buffer = 3 + args.y_column;
          PUNA_TRY(matmul(device, args, calls));
        }
        const auto both = beside(device, calls.end()[-2], calls.back());
        if (!both) {
          return base::fail(base::ErrorCode::kInternal,
                            fmt::format("Products of {} and {} do not run side by side.",
                                        quant::info(first).name, quant::info(second).name));
        }
        out.push_back(*both);
      }
    }
  }
  return {};
}

Result<void> weights(const gpu::DeviceInfo& device, Calls& out) {
  for (const quant::TypeInfo& type : quant::types()) {
    const std::string label(type.name);
    EmbedArgs lookup{label, weight_of(type.type, 256, 512), {}, {}, 2.0f};
    PUNA_TRY(embed(device, lookup, out));
    if (type.type == quant::Type::kF32) {
      lookup.of_media = EmbedMedia::kRows;
      lookup.media = Slice{};
      PUNA_TRY(embed(device, lookup, out));
      PUNA_TRY(add_media(device, {label, {}, {}, {}, {512, 512, 1024}}, out));
    }
    const Slice params{0, 0, 32}, staged{1, 0, kPlenty}, planes{2, 0, kPlenty};
    PUNA_TRY(KernelCall call, repack({label, type.type, 256, 512, params, staged, planes}));
    out.push_back(std::move(call));
  }
  return {};
}

Result<void> attentions(const gpu::DeviceInfo& device, Calls& out) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
    for (const uint32_t head_dim : {64u, 80u, 128u, 256u}) {
      if (type == KvType::kQ8_0 && head_dim % 32 != 0) continue;
      for (const uint32_t group : {1u, 3u, 8u}) {
        for (const uint32_t max_rows : {1u, 16u, 512u}) {
          AttentionArgs args{.label = fmt::format("attn {} x{}", head_dim, max_rows),
                             .kv = {type, 4, 2, head_dim},
                             .n_heads = 2 * group,
                             .pages_per_sequence = 2};
          args.max_rows = max_rows;
          args.softcap = group == 3 ? 50.0f : 0.0f;
          args.window = group == 8 ? 40 : 0;
          if (group == 1) args.sinks = Slice{};
          PUNA_TRY(attention(device, args, out));
          if (max_rows > 16) {
            args.numerics = Numerics::kFast;
            PUNA_TRY(attention(device, args, out));
          }
          if (head_dim == 64) {
            AttentionArgs around = args;
            around.places = true;
            PUNA_TRY(attention(device, around, out));
            AttentionArgs both_ways = args;
            both_ways.causal = false;
            PUNA_TRY(attention(device, both_ways, out));
            AttentionArgs alibi = args;
            alibi.softcap = 0;
            alibi.max_alibi_bias = 8;
            PUNA_TRY(attention(device, alibi, out));
            AttentionArgs biased = args;
            biased.softcap = 0;
            biased.sinks.reset();
            biased.biases = Slice{};
            biased.bias_reach = 128;
            PUNA_TRY(attention(device, biased, out));
            biased.causal = false;
            PUNA_TRY(attention(device, biased, out));
          }
          args.append = AttentionAppend{.table = Slice{}, .rope = {.n_rot = head_dim}};
          if (group == 3) args.append->head_norms = Slice{};
          if (group == 8) args.append->rope.pairs = RopePairs::kAdjacent;
          if (attention_appends(device, args)) PUNA_TRY(attention(device, args, out));
          args.append->rope.sections = {{head_dim / 4, head_dim / 8, head_dim / 8},
                                        SectionOrder::kByThrees};
          if (head_dim == 64 && attention_appends(device, args))
            PUNA_TRY(attention(device, args, out));
        }
      }
    }
  }
  for (const uint32_t head_dim : {64u, 72u, 80u}) {
    AttentionArgs args{.label = fmt::format("own attn {}", head_dim), .own = true};
    args.kv = {KvType::kF32, 0, 2, head_dim};
    args.n_heads = 2;
    args.causal = false;
    args.max_rows = 1024;
    PUNA_TRY(attention(device, args, out));
    args.spans = Slice{};
    PUNA_TRY(attention(device, args, out));
  }
  return {};
}

Result<void> ropes_and_norms(const gpu::DeviceInfo& device, Calls& out) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
    for (const uint32_t n_rot : {0u, 32u, 64u}) {
      for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
        RopeArgs args{
            .label = "rope", .kv = {type, 4, 2, 64}, .n_heads = 4, .pages_per_sequence = 2};
        args.rope.n_rot = n_rot;
        args.rope.pairs = pairs;
        if (n_rot > 0) args.table = Slice{};
        PUNA_TRY(rope_append(device, args, out));
        args.head_norms = Slice{};
        PUNA_TRY(rope_append(device, args, out));
        if (n_rot != 32) continue;
        for (const SectionOrder order : {SectionOrder::kInTurn, SectionOrder::kByThrees}) {
          args.rope.sections = {{6, 5, 5}, order};
          PUNA_TRY(rope_append(device, args, out));
        }
      }
    }
  }
  for (const uint32_t n : {576u, 577u, 16384u}) {
    for (int options = 0; options < 8; ++options) {
      NormArgs args{.label = "norm", .n = n};
      if (options & 1) args.post_gamma = Slice{};
      if (options & 2) args.residual = Slice{};
      if (options & 4) args.gamma = args.y = Slice{};
      PUNA_TRY(rms_norm(device, args, out));
    }
  }
  return {};
}

Result<void> others(const gpu::DeviceInfo& device, Calls& out) {
  for (const uint32_t n : {7u, 576u}) {
    PUNA_TRY(scale(device, {.label = "scale", .n = n, .scale = 1e-7f}, out));
    PUNA_TRY(softcap(device, {.label = "cap", .n = n, .cap = 30}, out));
    PUNA_TRY(glu(device, {.label = "swiglu", .n = n, .activation = Activation::kSilu}, out));
    PUNA_TRY(glu(device, {.label = "geglu", .n = n, .activation = Activation::kGeluTanh}, out));
    PUNA_TRY(gather_rows(device, {.label = "gather", .n = n}, out));
    PUNA_TRY(sample(device, {.label = "sample", .vocab = n, .context = n}, out));
    PUNA_TRY(sample(device, {.label = "sample", .vocab = n, .context = n, .places = true}, out));
  }
  for (const ExpertScores scores :
       {ExpertScores::kSoftmax, ExpertScores::kSigmoid, ExpertScores::kSoftmaxOfChosen}) {
    RouteArgs args{.label = "route"};
    args.params.n_experts = 64;
    args.params.n_chosen = 8;
    args.params.scores = scores;
    PUNA_TRY(route(device, args, out));
  }
  out.push_back(read_call({0, 0, kReadBytes}, {1, 0, 4}));
  out.push_back(arithmetic_call(Arithmetic::kF32, 1, 4, {}, {}));
  out.push_back(arithmetic_call(Arithmetic::kInt8, 1, 4, {}, {}));
  if (device.f16) out.push_back(arithmetic_call(Arithmetic::kF16, 1, 4, {}, {}));
  return {};
}

Result<void> roles_of_rwkv(const gpu::DeviceInfo& device, Calls& out) {
  for (const uint32_t max_rows : {1u, 512u}) {
    ShiftArgs mix{.label = "shift", .shape = {256, 512, 0, 0, /*keeps=*/true}};
    mix.max_rows = max_rows;
    PUNA_TRY(shift(device, mix, out));
    mix.by = Slice{};
    mix.shape = {256, 0, 1280, 256};
    PUNA_TRY(shift(device, mix, out));
    WkvArgs args{.label = "wkv", .shape = {WkvRule::kSix, 4, 64, 1536}, .max_rows = max_rows};
    PUNA_TRY(wkv(device, args, out));
    args.extra = Slice{};
    args.shape.rule = WkvRule::kSeven;
    PUNA_TRY(wkv(device, args, out));
    args.shape.mixes_values = true;
    PUNA_TRY(wkv(device, args, out));
  }
  return {};
}

}  // namespace

Result<std::vector<KernelCall>> every_call(const gpu::DeviceInfo& device) {
  Calls out;
  PUNA_TRY(products(device, out));
  PUNA_TRY(product_options(device, out));
  PUNA_TRY(pairs(device, out));
  PUNA_TRY(weights(device, out));
  PUNA_TRY(attentions(device, out));
  PUNA_TRY(ropes_and_norms(device, out));
  PUNA_TRY(others(device, out));
  PUNA_TRY(roles_of_rwkv(device, out));
  PUNA_TRY(Calls operations, every_operation(device));
  std::ranges::move(operations, std::back_inserter(out));
  return out;
}

std::vector<gpu::DeviceInfo> every_device(gpu::Dialect dialect) {
  std::vector<gpu::DeviceInfo> all(1);
  all[0].name = "baseline";
  for (const uint32_t size : {4u, 8u, 32u}) {
    gpu::DeviceInfo info;
    info.name = fmt::format("subgroups of {}", size);
    info.subgroups = true;
    info.subgroup_min = info.subgroup_max = size;
    info.dot4 = true;
    info.limits.max_workgroup_bytes = 32768;
    info.limits.max_storage_buffers = 10;
    all.push_back(info);
  }
  all.push_back(all.back());
  all.back().name += ", f16";
  all.back().f16 = true;
  for (gpu::DeviceInfo& info : all) info.dialect = dialect;
  return all;
}

}  // namespace puna::kernels::test
