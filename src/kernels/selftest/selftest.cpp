#include "kernels/selftest/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>

#include "kernels/attention/attention_ref.h"
#include "kernels/conv/conv_ref.h"
#include "kernels/delta/delta_ref.h"
#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/group_norm/group_norm_ref.h"
#include "kernels/matmul/matmul_ref.h"
#include "kernels/moe/moe_ref.h"
#include "kernels/norm/norm_parts_ref.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/rope/rope_ref.h"
#include "kernels/sample/sample_ref.h"
#include "kernels/selftest/measure.h"
#include "kernels/selftest/operations_cases.h"
#include "kernels/ssd/ssd_ref.h"
#include "quant/random_rows.h"

namespace puna::kernels {

using base::Result;
using quant::Type;

namespace {

// Limits of the normalised mean squared error; their reasons are in docs/numerics.md.
constexpr double kF32Limit = 1e-10;        // f32 sums in another order
constexpr double kInt8Limit = 1e-4;        // int8 activations against exact ones
constexpr double kF16Limit = 1e-6;         // f16 operands of matrix units
constexpr double kBf16Limit = 1e-5;        // activations rounded to bf16
constexpr double kHalfCacheLimit = 1e-10;  // the reference reads the same rounded cache
constexpr double kCacheStoreLimit = 1e-6;  // a rounding that falls on the other side
constexpr double kQ8StoreLimit = 1e-5;     // the same for int8 codes
constexpr double kQ4StoreLimit = 1e-3;     // and for codes of four bits

// Of products; int8: they may take int8 activations.
constexpr double limit_of(XForm form, bool int8) {
  if (form == XForm::kF16) return kF16Limit;
  if (form == XForm::kBf16) return kBf16Limit;
  return int8 ? kInt8Limit : kF32Limit;
}

// Several sequences over a scattered page table.
struct Rows {
  std::vector<int32_t> positions;
  std::vector<uint32_t> sequences;
  std::vector<uint32_t> pages;
  uint32_t pages_per_sequence;

  Rows(std::vector<int32_t> p, std::vector<uint32_t> s)
      : positions(std::move(p)), sequences(std::move(s)) {
    const int32_t last = *std::max_element(positions.begin(), positions.end());
    pages_per_sequence = static_cast<uint32_t>(last) / kPageTokens + 1;
    pages.resize(size_t{pages_per_sequence} *
                 (*std::max_element(sequences.begin(), sequences.end()) + 1));
    std::iota(pages.begin(), pages.end(), 0u);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(3));
  }
  uint32_t n() const { return static_cast<uint32_t>(positions.size()); }
  size_t n_sequences() const { return *std::max_element(sequences.begin(), sequences.end()) + 1; }
  CpuStep step() const {
    return {n(), positions.data(), sequences.data(), pages.data(), pages_per_sequence};
  }
};

class Runner {
 public:
  Runner(SelftestBackend& backend, const SelftestOptions& options)
      : backend_(backend), options_(options) {}

  Result<std::vector<SelftestResult>> run() {
    for (const quant::TypeInfo& type : quant::types()) {
      PUNA_TRY(embed(type.type));
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
        for (const uint32_t rows : {1u, 2u, 5u, 16u, 33u})
          PUNA_TRY(matmul(type.type, numerics, rows, Epilogue::kStore));
        PUNA_TRY(matmul(type.type, numerics, 1, Epilogue::kSwiGlu));
        PUNA_TRY(matmul(type.type, numerics, 20, Epilogue::kGeGlu));
        PUNA_TRY(matmul(type.type, numerics, 3, Epilogue::kAdd));
        for (const uint32_t rows : {1u, 3u, 33u}) PUNA_TRY(moe(type.type, numerics, rows));
        PUNA_TRY(matmul(type.type, numerics, 1, Epilogue::kActivate));
      }
    }
    for (const uint32_t n : {33u, 576u, 4096u}) {
      for (const int form : {0, 1, 2, 3}) PUNA_TRY(norm(n, form));
      for (const NormKind kind : {NormKind::kRms, NormKind::kLayer, NormKind::kL2}) {
        PUNA_TRY(norm_parts({kind, n, 1, n, 0, false, 1e-5f}, /*in_place=*/false));
        PUNA_TRY(norm_parts({kind, n, 2, 3 * n, n, true, 1e-5f}, /*in_place=*/true));
      }
    }
    for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
      for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent})
        PUNA_TRY(rope(kv, pairs));
      for (const uint32_t head_dim : {64u, 96u, 128u, 256u}) {
        PUNA_TRY(attention(kv, head_dim, {1}, {0}, 0, 0));
        PUNA_TRY(attention(kv, head_dim, {700}, {0}, 0, 0));
        PUNA_TRY(attention(kv, head_dim, {31, 32, 200, 5}, {0, 1, 2, 3}, 64, 20));
        std::vector<int32_t> chunk(48);
        std::iota(chunk.begin(), chunk.end(), 20);
        PUNA_TRY(attention(kv, head_dim, chunk, std::vector<uint32_t>(48, 0), 0, 0));
        PUNA_TRY(attention(kv, head_dim, chunk, std::vector<uint32_t>(48, 0), 30, 5));
      }
      PUNA_TRY(latent_attention(kv, {300}));
      std::vector<int32_t> chunk(40);
      std::iota(chunk.begin(), chunk.end(), 20);
      PUNA_TRY(latent_attention(kv, chunk));
    }
    PUNA_TRY(elementwise());
    PUNA_TRY(gates());
    for (const Rows& rows : state_steps()) {
      PUNA_TRY(conv(rows, {96, 4, 100, 3, true, ConvForm::kSilu}));
      PUNA_TRY(conv(rows, {96, 3, 288, 0, false, ConvForm::kGated}));
      PUNA_TRY(ssd(rows));
      PUNA_TRY(delta(rows));
    }
    for (const uint32_t vocab : {97u, 32000u, 128256u}) PUNA_TRY(sample(vocab));
    PUNA_TRY(operations());
    return std::move(results_);
  }

 private:
  bool wanted(std::string_view role, std::string_view type) const {
    return options_.filter.empty() || role.find(options_.filter) != std::string_view::npos ||
           type.find(options_.filter) != std::string_view::npos;
  }
  Result<void> record(std::string role, std::string type, std::string shape, double error,
                      double limit) {
    results_.push_back({std::move(role), std::move(type), std::move(shape), error, limit});
    if (options_.on_result) options_.on_result(results_.back());
    if (options_.cancel && options_.cancel->load()) {
      return base::fail(base::ErrorCode::kCancelled, "The self-test was interrupted.");
    }
    return {};
  }

  // Random rows of a type with this deviation, and their values. Those of one type are kept: every
  // case would encode them again.
  struct Weight {
    Type type;
    uint32_t rows, cols;
    float deviation;
    std::vector<std::byte> file;
    std::vector<float> values;
  };
  const Weight& random_weight(Type type, uint32_t rows, uint32_t cols, float deviation) {
    for (const Weight& w : weights_) {
      if (w.type == type && w.rows == rows && w.cols == cols && w.deviation == deviation) return w;
    }
    if (!weights_.empty() && weights_.front().type != type) weights_.clear();
    Weight& weight = weights_.emplace_back(type, rows, cols, deviation);
    const quant::TypeInfo& info = quant::info(type);
    weight.values.resize(size_t{rows} * cols);
    if (info.encode) {
      const auto values = normal(weight.values.size(), rows, 0, deviation);
      weight.file.resize(static_cast<size_t>(quant::row_bytes(type, values.size())));
      info.encode(values.data(), weight.file.data(), values.size());
    } else {
      weight.file = quant::random_weights(type, rows, cols, /*seed=*/rows, deviation);
    }
    info.decode(weight.file.data(), weight.values.data(), weight.values.size());
    return weight;
  }

  Result<void> matmul(Type type, Numerics numerics, uint32_t n_rows, Epilogue epilogue) {
    const bool int8 = numerics == Numerics::kFast && type > Type::kBf16;
    const std::string label = fmt::format("{} {}", quant::info(type).name,
                                          numerics == Numerics::kFast ? "fast" : "exact");
    if (!wanted("matmul", label)) return {};
    const bool gated = is_gated(epilogue);
    // A gated output is a product of two, so its error varies more: many of them.
    const uint32_t rows = gated ? 1032 : 70, cols = 512, n_out = gated ? rows / 2 : rows;
    const Weight& weight = random_weight(type, rows, cols, 0.05f);
    const auto x = normal(size_t{n_rows} * cols, 2);
    auto y = normal(size_t{n_rows} * n_out, 3), expected = y;
    // The activation comes with all else that may precede an epilogue.
    const bool activates = epilogue == Epilogue::kActivate;
    const auto bias = normal(rows, 4);
    const float* shift = activates ? bias.data() : nullptr;
    const float scale = activates ? 0.6f : 1.0f;
    constexpr Activation kActivation = Activation::kGeluErf;
    PUNA_TRY(const XForm form,
             backend_.matmul({type, weight.file, rows, cols, n_rows, x.data(), y.data(), epilogue,
                              numerics, shift, scale, kActivation}));
    matmul_ref({weight.values.data(), rows, cols, x.data(), expected.data(), n_rows, n_out, 0,
                epilogue, 0, shift, scale, kActivation});
    static constexpr const char* kEpilogues[] = {
        "", ", add", ", swiglu", ", geglu", ", clamped swiglu", ", softcap", ", bias, scale, gelu"};
    return record("matmul", label,
                  fmt::format("{}x{}, {} rows{}", rows, cols, n_rows,
                              kEpilogues[static_cast<size_t>(epilogue)]),
                  nmse(y, expected), limit_of(form, int8));
  }

  Result<void> moe(Type type, Numerics numerics, uint32_t n_rows) {
    const bool int8 = numerics == Numerics::kFast && type > Type::kBf16;
    const std::string label = fmt::format("{} {}", quant::info(type).name,
                                          numerics == Numerics::kFast ? "fast" : "exact");
    if (!wanted("experts", label)) return {};
    MoeRefArgs ref;
    ref.shape = {256, 256, {.n_experts = 7, .n_chosen = 3}, Epilogue::kSwiGluClamped};
    const uint32_t n = ref.shape.route.n_experts, gate_rows = n * 2 * 256, down_rows = n * 256;
    const Weight& gate_up = random_weight(type, gate_rows, 256, 0.05f);
    const Weight& down = random_weight(type, down_rows, 256, 0.05f);
    const auto x = normal(size_t{n_rows} * 256, 2), logits = normal(size_t{n_rows} * n, 3);
    const auto gate_up_bias = normal(gate_rows, 4), down_bias = normal(down_rows, 5);
    std::vector<float> y(x.size()), expected(x.size());
    MoeCpuArgs args;
    args.shape = ref.shape;
    ref.gate_up = gate_up.values.data();
    ref.down = down.values.data();
    ref.logits = args.logits = logits.data();
    ref.gate_up_bias = args.gate_up_bias = gate_up_bias.data();
    ref.down_bias = args.down_bias = down_bias.data();
    ref.x = args.x = x.data();
    ref.y = expected.data();
    args.y = y.data();
    ref.n_rows = args.n_rows = n_rows;
    PUNA_TRY(const XForm form, backend_.moe(type, numerics, gate_up.file, down.file, args));
    moe_ref(ref);
    return record("experts", label, fmt::format("7 of 256x256, 3 a row, {} rows", n_rows),
                  nmse(y, expected), limit_of(form, int8));
  }

  Result<void> embed(Type type) {
    const std::string label(quant::info(type).name);
    if (!wanted("embed", label)) return {};
    const uint32_t rows = 70, cols = 512;
    const Weight& weight = random_weight(type, rows, cols, 1.0f);
    const std::vector<int32_t> tokens = {0, 69, 3, 17, 17};
    std::vector<float> x(tokens.size() * cols), expected;
    PUNA_TRY(backend_.embed(type, weight.file, rows, cols, tokens, 1.5f, x.data()));
    for (int32_t t : tokens) {
      for (uint32_t c = 0; c < cols; ++c)
        expected.push_back(1.5f * weight.values[static_cast<size_t>(t) * cols + c]);
    }
    return record("embed", label, fmt::format("{}x{}, {} rows", rows, cols, tokens.size()),
                  nmse(x, expected), kF32Limit);
  }

  // form 0: plain; 1: with residual; 2: post-norm and residual; 3: post-norm and residual, no
  // result but the residual
  Result<void> norm(uint32_t n, int form) {
    if (!wanted("norm", "f32")) return {};
    const uint32_t n_rows = 3;
    const auto x = normal(size_t{n_rows} * n, 5), gamma = normal(n, 6, 1, 0.3f),
               post = normal(n, 7, 1, 0.3f);
    auto residual = normal(size_t{n_rows} * n, 8), expected_residual = residual;
    std::vector<float> y(x.size()), expected(x.size());
    NormCpuArgs args;
    args.x = x.data();
    args.post_gamma = form >= 2 ? post.data() : nullptr;
    args.residual = form >= 1 ? residual.data() : nullptr;
    args.gamma = form < 3 ? gamma.data() : nullptr;
    args.y = form < 3 ? y.data() : nullptr;
    args.n_rows = n_rows;
    args.n = n;
    PUNA_TRY(backend_.norm(args));
    if (args.residual) args.residual = expected_residual.data();
    if (args.y) args.y = expected.data();
    rms_norm_ref(args);
    y.insert(y.end(), residual.begin(), residual.end());
    expected.insert(expected.end(), expected_residual.begin(), expected_residual.end());
    static constexpr const char* kForms[] = {"", " + residual", " + post, residual",
                                             " + post, residual, no result"};
    return record("norm", "f32", fmt::format("{} rows of {}{}", n_rows, n, kForms[form]),
                  nmse(y, expected), kF32Limit);
  }

  Result<void> norm_parts(const NormPartsShape& shape, bool in_place) {
    if (!wanted("norm_parts", "f32")) return {};
    const uint32_t n_rows = 3;
    auto x = normal(size_t{n_rows} * shape.x_stride, 5, /*mean=*/2), expected_x = x;
    const size_t n_weights = size_t{shape.n} * (shape.weights_by_part ? shape.n_parts : 1);
    const auto gamma = normal(n_weights, 6, 1, 0.3f), beta = normal(n_weights, 7);
    std::vector<float> y(size_t{n_rows} * shape.n * shape.n_parts), expected(y.size());
    NormPartsCpuArgs args{x.data(), in_place ? nullptr : y.data(), gamma.data(), beta.data(), shape,
                          n_rows};
    PUNA_TRY(backend_.norm_parts(args));
    args.x = expected_x.data();
    if (args.y) args.y = expected.data();
    norm_parts_ref(args);
    static constexpr const char* kKinds[] = {"rms", "layer", "l2"};
    return record(
        "norm_parts", "f32",
        fmt::format("{} rows, {} of {}, {}{}", n_rows, shape.n_parts, shape.n,
                    kKinds[static_cast<size_t>(shape.kind)], in_place ? ", in place" : ""),
        in_place ? nmse(x, expected_x) : nmse(y, expected), kF32Limit);
  }

  Result<void> rope(KvType kv_type, RopePairs pairs) {
    if (!wanted("rope", name(kv_type))) return {};
    const Rows rows({0, 33, 1000, 100000}, {0, 0, 0, 0});
    const uint32_t head_dim = 64, n_heads = 6, n_kv_heads = 2;
    const KvLayout kv{kv_type, static_cast<uint32_t>(rows.pages.size()), n_kv_heads, head_dim};
    const auto qkv = normal(size_t{rows.n()} * (n_heads + 2 * n_kv_heads) * head_dim, 9);
    const auto q_norm = normal(head_dim, 10, 1, 0.2f), k_norm = normal(head_dim, 11, 1, 0.2f);
    std::vector<float> q(size_t{rows.n()} * n_heads * head_dim), expected_q(q.size());
    const auto n_bytes = static_cast<size_t>(kv.bytes());
    std::vector<std::byte> k(n_bytes), v(n_bytes), expected_k(n_bytes), expected_v(n_bytes);
    RopeCpuArgs args;
    args.step = rows.step();
    args.qkv = qkv.data();
    args.q_norm = q_norm.data();
    args.k_norm = k_norm.data();
    args.q_out = q.data();
    args.k_cache = k.data();
    args.v_cache = v.data();
    args.kv = kv;
    args.n_heads = n_heads;
    args.rope = {pairs, head_dim, 500000.0f, 1.0f};
    PUNA_TRY(backend_.rope(args));
    args.q_out = expected_q.data();
    args.k_cache = expected_k.data();
    args.v_cache = expected_v.data();
    rope_append_ref(args);
    // The rows that were appended, decoded.
    std::vector<float> cache, expected_cache;
    for (uint32_t t = 0; t < rows.n(); ++t) {
      const uint32_t position = static_cast<uint32_t>(rows.positions[t]);
      const uint32_t page =
          rows.pages[rows.sequences[t] * rows.pages_per_sequence + position / kPageTokens];
      for (uint32_t h = 0; h < n_kv_heads; ++h) {
        const uint64_t row = kv_row(kv, page, h, position % kPageTokens);
        for (uint32_t d = 0; d < head_dim; ++d) {
          cache.push_back(kv_load_ref(kv, k.data(), row, d));
          cache.push_back(kv_load_ref(kv, v.data(), row, d));
          expected_cache.push_back(kv_load_ref(kv, expected_k.data(), row, d));
          expected_cache.push_back(kv_load_ref(kv, expected_v.data(), row, d));
        }
      }
    }
    const char* shape =
        pairs == RopePairs::kNeox ? "neox, positions to 100000" : "adjacent, positions to 100000";
    PUNA_TRY(record("rope", "f32", shape, nmse(q, expected_q), 1e-7));
    const double limit = kv_type == KvType::kF32    ? 1e-7
                         : kv_type == KvType::kF16  ? kCacheStoreLimit
                         : kv_type == KvType::kQ8_0 ? kQ8StoreLimit
                                                    : kQ4StoreLimit;
    return record("kv append", std::string(name(kv_type)), shape, nmse(cache, expected_cache),
                  limit);
  }

  // With a sink; values are the first 512 elements of keys of 576.
  Result<void> latent_attention(KvType kv_type, std::vector<int32_t> positions) {
    if (!wanted("attention", name(kv_type))) return {};
    const size_t n_rows = positions.size();
    const Rows rows(std::move(positions), std::vector<uint32_t>(n_rows, 0));
    AttentionCpuArgs args;
    args.kv = {kv_type, static_cast<uint32_t>(rows.pages.size()), 1, 576};
    args.n_heads = 4;
    args.v_dim = 512;
    std::vector<std::byte> k(static_cast<size_t>(args.kv.bytes()));
    const auto draws = normal(65521, 12);
    for (uint64_t row = 0; row < uint64_t{args.kv.n_pages} * kPageTokens; ++row)
      kv_store_ref(args.kv, k.data(), row, draws.data() + row * 31 % 60000);
    const auto q = normal(n_rows * args.n_heads * 576, 13), sinks = normal(args.n_heads, 14);
    std::vector<float> out(n_rows * args.n_heads * args.v_dim), expected(out.size());
    args.step = rows.step();
    args.q = q.data();
    args.k_cache = args.v_cache = k.data();
    args.sinks = sinks.data();
    args.out = out.data();
    args.scale = 1.0f / 24;
    PUNA_TRY(backend_.attention(args));
    args.out = expected.data();
    attention_ref(args);
    return record("attention", std::string(name(kv_type)),
                  fmt::format("latent 576/512, sinks, {} rows", n_rows), nmse(out, expected),
                  kF32Limit);
  }

  Result<void> attention(KvType kv_type, uint32_t head_dim, std::vector<int32_t> positions,
                         std::vector<uint32_t> sequences, uint32_t window, float softcap) {
    if (!wanted("attention", name(kv_type))) return {};
    const Rows rows(std::move(positions), std::move(sequences));
    const uint32_t n_kv_heads = 2, n_heads = 6;
    const KvLayout kv{kv_type, static_cast<uint32_t>(rows.pages.size()), n_kv_heads, head_dim};
    const auto n_bytes = static_cast<size_t>(kv.bytes());
    std::vector<std::byte> k(n_bytes), v(n_bytes);
    const auto draws = normal(65521, 12);
    size_t draw = 0;
    std::vector<float> head(head_dim);
    for (uint64_t row = 0; row < uint64_t{kv.n_pages} * n_kv_heads * kPageTokens; ++row) {
      for (std::vector<std::byte>* cache : {&k, &v}) {
        for (float& value : head) value = draws[draw++ % draws.size()];
        kv_store_ref(kv, cache->data(), row, head.data());
      }
    }
    const auto q = normal(size_t{rows.n()} * n_heads * head_dim, 13);
    std::vector<float> out(q.size()), expected(q.size());
    AttentionCpuArgs args;
    args.step = rows.step();
    args.q = q.data();
    args.k_cache = k.data();
    args.v_cache = v.data();
    args.out = out.data();
    args.kv = kv;
    args.n_heads = n_heads;
    args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    args.softcap = softcap;
    args.window = window;
    PUNA_TRY(backend_.attention(args));
    args.out = expected.data();
    attention_ref(args);
    return record("attention", std::string(name(kv_type)),
                  fmt::format("head {}, {} rows, {} keys{}{}", head_dim, rows.n(),
                              *std::max_element(rows.positions.begin(), rows.positions.end()) + 1,
                              window > 0 ? ", window" : "", softcap > 0 ? ", softcap" : ""),
                  nmse(out, expected), kHalfCacheLimit);
  }

  Result<void> elementwise() {
    const uint32_t n_rows = 5, n = 100;
    const auto both = normal(size_t{n_rows} * n * 2, 14, 0, 3);
    for (const Activation activation : kActivations) {
      if (!wanted("glu", "f32")) break;
      std::vector<float> y(size_t{n_rows} * n), expected;
      PUNA_TRY(backend_.glu(both.data(), y.data(), n_rows, n, activation));
      for (uint32_t t = 0; t < n_rows; ++t) {
        for (uint32_t i = 0; i < n; ++i) {
          const float* row = both.data() + size_t{t} * 2 * n;
          expected.push_back(
              static_cast<float>(activate_ref(activation, double{row[i]}) * row[n + i]));
        }
      }
      PUNA_TRY(record("glu", "f32", std::string(name(activation)), nmse(y, expected), kF32Limit));
    }
    if (wanted("softcap", "f32")) {
      auto y = normal(size_t{n_rows} * n, 15, 0, 40), expected = y;
      for (float& v : expected) v = static_cast<float>(softcap_ref(double{v}, 30.0));
      PUNA_TRY(backend_.softcap(y.data(), n_rows, n, 30));
      PUNA_TRY(record("softcap", "f32", "cap 30", nmse(y, expected), kF32Limit));
    }
    return {};
  }

  Result<void> gates() {
    const uint32_t n_rows = 3, n = 256, n_groups = 2;
    const auto x = normal(size_t{n_rows} * n, 20), by = normal(x.size(), 21, 0, 3);
    for (const uint32_t n_gates : {1u, n}) {
      if (!wanted("gate", "f32")) break;
      auto y = x, expected = x;
      PUNA_TRY(backend_.gate(by.data(), y.data(), n_rows, n, n_gates));
      gate_ref(by.data(), expected.data(), n_rows, n, n_gates);
      PUNA_TRY(record("gate", "f32", fmt::format("{} rows of {}, {} gates", n_rows, n, n_gates),
                      nmse(y, expected), kF32Limit));
    }
    if (!wanted("group norm", "f32")) return {};
    const auto gamma = normal(n, 22, 1, 0.3f);
    std::vector<float> y(x.size()), expected(x.size());
    GroupNormCpuArgs args{x.data(), gamma.data(), by.data(),
                          y.data(), n_rows,       {n, n_groups, n / n_groups, n, 0, 1e-6f}};
    PUNA_TRY(backend_.group_norm(args));
    args.y = expected.data();
    group_norm_ref(args);
    return record("group norm", "f32", fmt::format("{} rows of {}x{}", n_rows, n_groups, n / 2),
                  nmse(y, expected), kF32Limit);
  }

  // A row that goes on, a batch with a new sequence in it, a chunk.
  static std::vector<Rows> state_steps() {
    std::vector<int32_t> chunk(48);
    std::iota(chunk.begin(), chunk.end(), 2);
    return {Rows({7}, {0}), Rows({31, 0, 200, 2}, {0, 1, 2, 3}),
            Rows(chunk, std::vector<uint32_t>(48, 0))};
  }
  // The error of y and state together.
  Result<void> record_state(const char* role, std::string shape, const Rows& rows,
                            std::vector<float> y, std::vector<float> expected,
                            std::span<const float> state, std::span<const float> expected_state) {
    y.insert(y.end(), state.begin(), state.end());
    expected.insert(expected.end(), expected_state.begin(), expected_state.end());
    return record(role, "f32", fmt::format("{}, {} rows", shape, rows.n()), nmse(y, expected),
                  kF32Limit);
  }

  Result<void> conv(const Rows& rows, const ConvShape& s) {
    if (!wanted("conv", "f32")) return {};
    const auto x = normal(size_t{rows.n()} * s.x_stride, 23);
    const auto weights = normal(size_t{s.n_channels} * s.n_taps, 24);
    const auto bias = normal(s.n_channels, 25);
    auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 26),
         expected_state = state;
    std::vector<float> y(size_t{rows.n()} * s.n_channels), expected(y.size());
    ConvCpuArgs args{
        rows.step(), x.data(), weights.data(), s.has_bias ? bias.data() : nullptr, state.data(),
        y.data(),    s};
    PUNA_TRY(backend_.conv(args));
    args.state = expected_state.data();
    args.y = expected.data();
    conv_ref(args);
    return record_state("conv", fmt::format("{} taps", s.n_taps), rows, y, expected, state,
                        expected_state);
  }

  Result<void> ssd(const Rows& rows) {
    if (!wanted("ssd", "f32")) return {};
    SsdShape s{4, 64, 128, 2};
    s.dt_column = s.inner();
    s.in_stride = s.inner() + s.n_heads;
    const auto xbc = normal(size_t{rows.n()} * s.xbc_columns(), 27);
    const auto in = normal(size_t{rows.n()} * s.in_stride, 28);
    const auto a = normal(s.n_heads, 29, -2, 0.3f), d = normal(s.n_heads, 30),
               bias = normal(s.n_heads, 31);
    auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 32),
         expected_state = state;
    std::vector<float> y(size_t{rows.n()} * s.inner()), expected(y.size());
    SsdCpuArgs args{rows.step(), xbc.data(),   in.data(), a.data(), d.data(),
                    bias.data(), state.data(), y.data(),  s};
    PUNA_TRY(backend_.ssd(args));
    args.state = expected_state.data();
    args.y = expected.data();
    ssd_ref(args);
    return record_state("ssd", "4 heads of 64x128", rows, y, expected, state, expected_state);
  }

  Result<void> delta(const Rows& rows) {
    if (!wanted("delta", "f32")) return {};
    DeltaShape s{2, 4, 128, 128};
    s.in_stride = 2 * s.n_value_heads;
    s.alpha_column = s.n_value_heads;
    s.head_stride = s.ratio();
    const auto qkv = normal(size_t{rows.n()} * s.qkv_columns(), 33);
    const auto in = normal(size_t{rows.n()} * s.in_stride, 34);
    const auto a = normal(s.n_value_heads, 35, -2, 0.3f), bias = normal(s.n_value_heads, 36);
    auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 37),
         expected_state = state;
    std::vector<float> y(size_t{rows.n()} * s.value_columns()), expected(y.size());
    DeltaCpuArgs args{rows.step(), qkv.data(),   in.data(), a.data(),
                      bias.data(), state.data(), y.data(),  s};
    PUNA_TRY(backend_.delta(args));
    args.state = expected_state.data();
    args.y = expected.data();
    delta_ref(args);
    return record_state("delta", "4 heads of 128x128", rows, y, expected, state, expected_state);
  }

  Result<void> sample(const char* type, const SamplingParams& params, uint32_t vocab) {
    if (!wanted("sample", type)) return {};
    const uint32_t n_rows = 8;
    auto logits = normal(size_t{n_rows} * vocab, 18, 0, 3);
    logits[vocab - 1] = logits[7] = 50;  // equal
    logits[5] = NAN;
    std::vector<SamplingParams> all(n_rows, params);
    std::vector<std::vector<int32_t>> texts(n_rows);
    std::vector<int32_t> ids(n_rows);
    std::vector<float> expected;
    for (uint32_t i = 0; i < n_rows; ++i) {
      all[i].seed = i;
      for (uint32_t t = 0; t <= 40 * i; ++t)
        texts[i].push_back(static_cast<int32_t>(t * 2654435761u % vocab));
      expected.push_back(
          static_cast<float>(sample_ref(all[i], std::span(logits).subspan(size_t{i} * vocab, vocab),
                                        texts[i], static_cast<uint32_t>(texts[i].size()))));
    }
    PUNA_TRY(backend_.sample(all, texts, logits, ids));
    return record("sample", type, fmt::format("{} rows of {}", n_rows, vocab),
                  nmse(std::vector<float>(ids.begin(), ids.end()), expected), 0);
  }
  Result<void> sample(uint32_t vocab) {
    SamplingParams greedy, plain, top_p, adjusted;
    greedy.temperature = 0;
    for (SamplingParams* p : {&plain, &top_p, &adjusted}) *p = {.top_k = 0, .top_p = 1, .min_p = 0};
    top_p.top_p = 0.9f;
    adjusted.repeat_penalty = 1.2f;
    adjusted.presence_penalty = 0.5f;
    adjusted.frequency_penalty = 0.1f;
    adjusted.logit_bias = {{3, -INFINITY}, {9, 4.5f}};
    PUNA_TRY(sample("greedy", greedy, vocab));
    PUNA_TRY(sample("temperature", plain, vocab));
    PUNA_TRY(sample("top-p", top_p, vocab));
    PUNA_TRY(sample("all cuts", {}, vocab));
    return sample("penalties", adjusted, vocab);
  }

  Result<void> operations() {
    const auto wants = [&](std::string_view role, std::string_view type) {
      return wanted(role, type);
    };
    const auto keep = [&](std::string_view role, std::string_view type, std::string shape,
                          double error, double limit) {
      return record(std::string(role), std::string(type), std::move(shape), error, limit);
    };
    return OperationCases(backend_.operations(), wants, keep).run();
  }

  SelftestBackend& backend_;
  const SelftestOptions& options_;
  std::vector<SelftestResult> results_;
  std::deque<Weight> weights_;
};

}  // namespace

Result<std::vector<SelftestResult>> selftest(SelftestBackend& backend,
                                             const SelftestOptions& options) {
  return Runner(backend, options).run();
}

}  // namespace puna::kernels
