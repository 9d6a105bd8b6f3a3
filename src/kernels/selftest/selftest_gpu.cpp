// Runs roles on a gpu::Device from host arrays: every call uploads its inputs, describes the
// kernels, runs them and reads back.

#include <fmt/format.h>

#include <algorithm>

#include "kernels/common/workbench.h"
#include "kernels/embed/embed.h"
#include "kernels/repack/repack.h"
#include "kernels/sample/sample.h"
#include "kernels/selftest/selftest.h"
#include "quant/planes.h"

namespace puna::kernels {
namespace {

using base::Result;

class GpuBackend : public SelftestBackend {
 public:
  explicit GpuBackend(gpu::Device& device) : device_(device), operations_(operations_gpu(device)) {}

  Result<XForm> matmul(const Matmul& args) override {
    Workbench bench(device_);
    const bool gated = is_gated(args.epilogue);
    const uint32_t n_out = gated ? args.rows / 2 : args.rows;
    MatmulArgs m;
    m.label = "matmul";
    PUNA_TRY(m.weight, weight(bench, args.type, args.file_rows, args.rows, args.cols));
    PUNA_TRY(m.step, bench.step(args.n_rows));
    PUNA_TRY(m.x, bench.upload(args.x, uint64_t{args.n_rows} * args.cols));
    if (args.epilogue == Epilogue::kAdd) {
      PUNA_TRY(m.y, bench.upload(static_cast<const float*>(args.y), uint64_t{args.n_rows} * n_out));
    } else {
      PUNA_TRY(m.y, bench.output(uint64_t{args.n_rows} * n_out));
    }
    m.y_stride = n_out;
    m.epilogue = args.epilogue;
    if (args.bias) {
      PUNA_TRY(m.bias, bench.upload(args.bias, args.rows));
    }
    m.scale = args.scale;
    m.activation = args.activation;
    m.numerics = args.numerics;
    m.max_rows = batch_class(args.n_rows);
    if (const uint64_t bytes = matmul_scratch_bytes(device_.info(), m); bytes > 0) {
      PUNA_TRY(m.scratch, bench.output(bytes / 4));
    }
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::matmul(device_.info(), m, calls));
    PUNA_TRY(bench.run(calls, {args.n_rows, args.n_rows, 1}));
    PUNA_TRY(bench.read(m.y, args.y, uint64_t{args.n_rows} * n_out));
    return matmul_x_form(device_.info(), m);
  }
  Result<XForm> moe(quant::Type type, Numerics numerics, std::span<const std::byte> gate_up,
                    std::span<const std::byte> down, const MoeCpuArgs& args) override {
    Workbench bench(device_);
    const MoeShape& shape = args.shape;
    const uint32_t n = shape.route.n_experts;
    MoeArgs a;
    a.label = "experts";
    a.shape = shape;
    PUNA_TRY(a.gate_up, weight(bench, type, gate_up, n * 2 * shape.ffn, shape.hidden));
    PUNA_TRY(a.down, weight(bench, type, down, n * shape.hidden, shape.ffn));
    PUNA_TRY(a.step, bench.step(args.n_rows));
    PUNA_TRY(a.logits, bench.upload(args.logits, uint64_t{args.n_rows} * n));
    PUNA_TRY(a.x, bench.upload(args.x, uint64_t{args.n_rows} * shape.hidden));
    PUNA_TRY(a.y, bench.output(uint64_t{args.n_rows} * shape.hidden));
    PUNA_TRY(a.gate_up_bias, bench.upload(args.gate_up_bias, uint64_t{n} * 2 * shape.ffn));
    PUNA_TRY(a.down_bias, bench.upload(args.down_bias, uint64_t{n} * shape.hidden));
    a.numerics = numerics;
    a.max_rows = batch_class(args.n_rows);
    PUNA_TRY(a.routes, bench.output(moe_routes_bytes(shape, a.max_rows) / 4));
    PUNA_TRY(a.groups, bench.output(moe_groups_bytes(shape, a.max_rows) / 4));
    PUNA_TRY(a.scratch, bench.output(moe_scratch_bytes(device_.info(), a) / 4));
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::moe(device_.info(), a, calls));
    PUNA_TRY(bench.run(calls, {args.n_rows, args.n_rows, 1}));
    PUNA_TRY(bench.read(a.y, args.y, uint64_t{args.n_rows} * shape.hidden));
    return moe_x_form(device_.info(), a);
  }
  Result<void> embed(quant::Type type, std::span<const std::byte> file_rows, uint32_t rows,
                     uint32_t cols, std::span<const int32_t> tokens, float scale,
                     float* x) override {
    Workbench bench(device_);
    const uint32_t n = static_cast<uint32_t>(tokens.size());
    EmbedArgs e;
    e.label = "embed";
    PUNA_TRY(e.weight, weight(bench, type, file_rows, rows, cols));
    std::vector<uint32_t> words(kStepWords);
    words[kStepTokenCount] = n;
    for (uint32_t t = 0; t < n; ++t) words[kStepTokens + t] = static_cast<uint32_t>(tokens[t]);
    PUNA_TRY(e.step, bench.upload(std::span<const uint32_t>(words)));
    PUNA_TRY(e.x, bench.output(uint64_t{n} * cols));
    e.scale = scale;
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::embed(device_.info(), e, calls));
    PUNA_TRY(bench.run(calls, {n, n, 1}));
    return bench.read(e.x, x, uint64_t{n} * cols);
  }
  Result<void> norm(const NormCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.n;
    NormArgs a;
    a.label = "norm";
    PUNA_TRY(a.step, bench.step(args.n_rows));
    PUNA_TRY(a.x, bench.upload(args.x, n));
    if (args.post_gamma) {
      PUNA_TRY(a.post_gamma, bench.upload(args.post_gamma, args.n));
    }
    if (args.residual) {
      PUNA_TRY(a.residual, bench.upload(static_cast<const float*>(args.residual), n));
    }
    if (args.gamma) {
      PUNA_TRY(a.gamma, bench.upload(args.gamma, args.n));
    }
    if (args.y) {
      PUNA_TRY(a.y, bench.output(n));
    }
    a.n = args.n;
    a.eps = args.eps;
    std::vector<KernelCall> calls;
    PUNA_TRY(rms_norm(device_.info(), a, calls));
    PUNA_TRY(bench.run(calls, {args.n_rows, args.n_rows, 1}));
    if (args.residual) PUNA_TRY(bench.read(*a.residual, args.residual, n));
    if (args.y) PUNA_TRY(bench.read(*a.y, args.y, n));
    return {};
  }
  Result<void> norm_parts(const NormPartsCpuArgs& args) override {
    Workbench bench(device_);
    const NormPartsShape& s = args.shape;
    const uint32_t n_weights = s.n * (s.weights_by_part ? s.n_parts : 1);
    const uint64_t n_x = uint64_t{args.n_rows} * s.x_stride;
    const uint64_t n_y = uint64_t{args.n_rows} * s.n * s.n_parts;
    NormPartsArgs a;
    a.label = "norm_parts";
    a.shape = s;
    PUNA_TRY(a.step, bench.step(args.n_rows));
    PUNA_TRY(a.x, bench.upload(static_cast<const float*>(args.x), n_x));
    if (args.y) {
      PUNA_TRY(a.y, bench.output(n_y));
    }
    if (args.gamma) {
      PUNA_TRY(a.gamma, bench.upload(args.gamma, n_weights));
    }
    if (args.beta) {
      PUNA_TRY(a.beta, bench.upload(args.beta, n_weights));
    }
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::norm_parts(device_.info(), a, calls));
    PUNA_TRY(bench.run(calls, {args.n_rows, args.n_rows, 1}));
    if (args.y) return bench.read(*a.y, args.y, n_y);
    return bench.read(a.x, args.x, n_x);
  }
  Result<void> rope(const RopeCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t width = uint64_t{args.n_heads} * args.kv.head_dim;
    RopeArgs r;
    r.label = "rope";
    PUNA_TRY(r.step, bench.step(args.step.n_tokens, &args.step));
    PUNA_TRY(r.pages, pages(bench, args.step, args.kv));
    PUNA_TRY(r.qkv, bench.upload(args.qkv, args.step.n_tokens * (width + 2ull * args.kv.n_kv_heads *
                                                                             args.kv.head_dim)));
    if (args.q_norm && args.k_norm) {
      std::vector<float> both(args.q_norm, args.q_norm + args.kv.head_dim);
      both.insert(both.end(), args.k_norm, args.k_norm + args.kv.head_dim);
      PUNA_TRY(r.head_norms, bench.upload(std::span<const float>(both)));
    }
    if (args.rope.n_rot > 0) {
      const auto table = rope_table(args.rope, args.freq_factors);
      PUNA_TRY(r.table, bench.upload(std::span<const uint32_t>(table)));
    }
    PUNA_TRY(r.q_out, bench.output(args.step.n_tokens * width));
    PUNA_TRY(r.k_cache, bench.upload(static_cast<const std::byte*>(args.k_cache), args.kv.bytes()));
    PUNA_TRY(r.v_cache, bench.upload(static_cast<const std::byte*>(args.v_cache), args.kv.bytes()));
    r.kv = args.kv;
    r.n_heads = args.n_heads;
    r.pages_per_sequence = args.step.pages_per_sequence;
    r.norm_eps = args.norm_eps;
    r.rope = args.rope;
    std::vector<KernelCall> calls;
    PUNA_TRY(rope_append(device_.info(), r, calls));
    PUNA_TRY(bench.run(calls, {args.step.n_tokens, args.step.n_tokens, 1}));
    PUNA_TRY(bench.read(r.q_out, args.q_out, args.step.n_tokens * width));
    PUNA_TRY(bench.read(r.k_cache, args.k_cache, args.kv.bytes()));
    return bench.read(r.v_cache, args.v_cache, args.kv.bytes());
  }
  Result<void> attention(const AttentionCpuArgs& args) override {
    Workbench bench(device_);
    const uint32_t n_rows = args.step.n_tokens;
    const uint64_t n = uint64_t{n_rows} * args.n_heads * args.kv.head_dim;
    AttentionArgs a;
    a.label = "attention";
    a.kv = args.kv;
    a.n_heads = args.n_heads;
    a.pages_per_sequence = args.step.pages_per_sequence;
    a.scale = args.scale;
    a.softcap = args.softcap;
    a.window = args.window;
    a.v_dim = args.v_dim;
    a.causal = args.causal;
    if (args.sinks) {
      PUNA_TRY(a.sinks, bench.upload(args.sinks, args.n_heads));
    }
    a.max_rows = batch_class(n_rows);
    const uint32_t n_kv = static_cast<uint32_t>(*std::max_element(args.step.positions,
                                                                  args.step.positions + n_rows)) +
                          1;
    const AttentionSplits splits = attention_splits(attention_max_splits(device_.info(), a), n_kv);
    PUNA_TRY(a.step, bench.step(n_rows, &args.step, splits));
    PUNA_TRY(a.pages, pages(bench, args.step, args.kv));
    PUNA_TRY(a.q, bench.upload(args.q, n));
    PUNA_TRY(a.k_cache, bench.upload(args.k_cache, args.kv.bytes()));
    PUNA_TRY(a.v_cache, bench.upload(args.v_cache, args.kv.bytes()));
    const uint64_t n_out = n / args.kv.head_dim * (args.v_dim != 0 ? args.v_dim : args.kv.head_dim);
    PUNA_TRY(a.out, bench.output(n_out));
    if (const uint64_t bytes = attention_scratch_bytes(device_.info(), a); bytes > 0) {
      PUNA_TRY(a.scratch, bench.output(bytes / 4));
    }
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::attention(device_.info(), a, calls));
    PUNA_TRY(bench.run(calls, {n_rows, n_rows, splits.n_splits}));
    return bench.read(a.out, args.out, n_out);
  }
  Result<void> glu(const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
                   Activation activation) override {
    Workbench bench(device_);
    GluArgs g;
    g.label = "glu";
    PUNA_TRY(g.step, bench.step(n_rows));
    PUNA_TRY(g.gate_up, bench.upload(gate_up, uint64_t{n_rows} * n * 2));
    PUNA_TRY(g.y, bench.output(uint64_t{n_rows} * n));
    g.n = n;
    g.activation = activation;
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::glu(device_.info(), g, calls));
    PUNA_TRY(bench.run(calls, {n_rows, n_rows, 1}));
    return bench.read(g.y, y, uint64_t{n_rows} * n);
  }
  Result<void> softcap(float* y, uint32_t n_rows, uint32_t n, float cap) override {
    Workbench bench(device_);
    SoftcapArgs s;
    s.label = "softcap";
    PUNA_TRY(s.step, bench.step(n_rows));
    PUNA_TRY(s.y, bench.upload(static_cast<const float*>(y), uint64_t{n_rows} * n));
    s.n = n;
    s.cap = cap;
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::softcap(device_.info(), s, calls));
    PUNA_TRY(bench.run(calls, {n_rows, n_rows, 1}));
    return bench.read(s.y, y, uint64_t{n_rows} * n);
  }
  Result<void> gate(const float* x, float* y, uint32_t n_rows, uint32_t n,
                    uint32_t n_gates) override {
    Workbench bench(device_);
    GateArgs g;
    g.label = "gate";
    PUNA_TRY(g.x, bench.upload(x, uint64_t{n_rows} * n_gates));
    PUNA_TRY(g.y, bench.upload(static_cast<const float*>(y), uint64_t{n_rows} * n));
    g.n = n;
    g.n_gates = n_gates;
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::gate(device_.info(), g, calls));
    PUNA_TRY(bench.run(calls, {n_rows, n_rows, 1}));
    return bench.read(g.y, y, uint64_t{n_rows} * n);
  }
  Result<void> group_norm(const GroupNormCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.shape.n;
    GroupNormArgs g;
    g.label = "group norm";
    g.shape = args.shape;
    PUNA_TRY(g.x, bench.upload(args.x, n));
    PUNA_TRY(g.gamma, bench.upload(args.gamma, args.shape.n_gamma));
    if (args.gate) {
      PUNA_TRY(g.gate, bench.upload(args.gate, uint64_t{args.n_rows} * args.shape.gate_stride));
    }
    PUNA_TRY(g.y, bench.output(n));
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::group_norm(device_.info(), g, calls));
    PUNA_TRY(bench.run(calls, {args.n_rows, args.n_rows, 1}));
    return bench.read(g.y, args.y, n);
  }
  Result<void> conv(const ConvCpuArgs& args) override {
    const ConvShape& s = args.shape;
    std::vector<float> weights(args.weights, args.weights + size_t{s.n_channels} * s.n_taps);
    if (args.bias) weights.insert(weights.end(), args.bias, args.bias + s.n_channels);
    ConvArgs c;
    return run_with_state(
        args.step, s.state_floats(), args.state, args.y, s.n_channels, c,
        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
          c.label = "conv";
          c.shape = s;
          PUNA_TRY(c.x, bench.upload(args.x, uint64_t{args.step.n_tokens} * s.x_stride));
          PUNA_TRY(c.weights, bench.upload(std::span<const float>(weights)));
          std::vector<KernelCall> calls;
          PUNA_TRY(kernels::conv(device_.info(), c, calls));
          return calls;
        });
  }
  Result<void> ssd(const SsdCpuArgs& args) override {
    const SsdShape& s = args.shape;
    std::vector<float> constants;
    for (const float* part : {args.a, args.d, args.dt_bias})
      constants.insert(constants.end(), part, part + s.n_heads);
    SsdArgs a;
    return run_with_state(
        args.step, s.state_floats(), args.state, args.y, s.inner(), a,
        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
          a.label = "ssd";
          a.shape = s;
          PUNA_TRY(a.xbc, bench.upload(args.xbc, uint64_t{args.step.n_tokens} * s.xbc_columns()));
          PUNA_TRY(a.in, bench.upload(args.in, uint64_t{args.step.n_tokens} * s.in_stride));
          PUNA_TRY(a.constants, bench.upload(std::span<const float>(constants)));
          std::vector<KernelCall> calls;
          PUNA_TRY(kernels::ssd(device_.info(), a, calls));
          return calls;
        });
  }
  Result<void> delta(const DeltaCpuArgs& args) override {
    const DeltaShape& s = args.shape;
    std::vector<float> constants(args.a, args.a + s.n_value_heads);
    constants.insert(constants.end(), args.dt_bias, args.dt_bias + s.n_value_heads);
    DeltaArgs d;
    return run_with_state(
        args.step, s.state_floats(), args.state, args.y, s.value_columns(), d,
        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
          d.label = "delta";
          d.shape = s;
          PUNA_TRY(d.qkv, bench.upload(args.qkv, uint64_t{args.step.n_tokens} * s.qkv_columns()));
          PUNA_TRY(d.in, bench.upload(args.in, uint64_t{args.step.n_tokens} * s.in_stride));
          PUNA_TRY(d.constants, bench.upload(std::span<const float>(constants)));
          std::vector<KernelCall> calls;
          PUNA_TRY(kernels::delta(device_.info(), d, calls));
          return calls;
        });
  }
  Result<void> sample(std::span<const SamplingParams> params,
                      std::span<const std::vector<int32_t>> texts, std::span<const float> logits,
                      std::span<int32_t> ids) override {
    Workbench bench(device_);
    const auto n_rows = static_cast<uint32_t>(ids.size());
    SampleArgs a;
    a.label = "sample";
    a.vocab = static_cast<uint32_t>(logits.size() / n_rows);
    a.max_rows = batch_class(n_rows);
    for (const auto& text : texts) a.context = std::max(a.context, uint32_t(text.size()) + 1);
    std::vector<uint32_t> step(kStepWords), history(size_t{n_rows} * a.context);
    step[kStepTokenCount] = step[kStepOutputCount] = n_rows;
    for (uint32_t i = 0; i < n_rows; ++i) {
      step[kStepPositions + i] = static_cast<uint32_t>(texts[i].size()) - 1;
      step[kStepSequences + i] = step[kStepOutputRows + i] = i;
      std::ranges::copy(texts[i], history.begin() + ptrdiff_t(size_t{i} * a.context));
    }
    std::vector<DeviceSampling> outputs;
    for (const SamplingParams& p : params) outputs.push_back({p});
    std::vector<uint32_t> words(sampling_bytes(a.vocab, n_rows) / sizeof(uint32_t));
    for (const SamplingPart& part : sampling_parts(outputs, a.vocab)) {
      std::ranges::copy(part.words, words.begin() + ptrdiff_t(part.offset_bytes / 4));
    }
    PUNA_TRY(a.step, bench.upload(std::span<const uint32_t>(step)));
    PUNA_TRY(a.sampling, bench.upload(std::span<const uint32_t>(words)));
    PUNA_TRY(a.history, bench.upload(std::span<const uint32_t>(history)));
    PUNA_TRY(a.logits, bench.upload(logits));
    PUNA_TRY(a.ids, bench.output(kChosenSteps * kMaxBatch));
    PUNA_TRY(a.scratch, bench.output(sample_scratch_bytes(a) / 4));
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::sample(device_.info(), a, calls));
    PUNA_TRY(bench.run(calls,
                       {.n_tokens = n_rows, .n_outputs = n_rows, .cuts = cuts(outputs, a.vocab)}));
    return bench.read(a.ids, ids.data(), n_rows);
  }

  Operations& operations() override { return *operations_; }

 private:
  static uint32_t batch_class(uint32_t n_rows) {
    for (uint32_t rows : {1u, 2u, 4u, 8u, 16u}) {
      if (n_rows <= rows) return rows;
    }
    return kMaxStepTokens;
  }

  // Runs what describe(bench) makes of `args`, whose step, state and y are filled in here; reads
  // the state and y back.
  template <class Args, class DescribeCalls>
  Result<void> run_with_state(const CpuStep& step, uint64_t state_floats, float* state, float* y,
                              uint32_t y_columns, Args& args, const DescribeCalls& describe) {
    Workbench bench(device_);
    const uint64_t n_slots =
        uint64_t{*std::max_element(step.sequences, step.sequences + step.n_tokens)} + 1;
    const uint64_t n_y = uint64_t{step.n_tokens} * y_columns;
    args.max_rows = batch_class(step.n_tokens);
    PUNA_TRY(args.step, bench.step(step.n_tokens, &step));
    PUNA_TRY(args.state, bench.upload(static_cast<const float*>(state), n_slots * state_floats));
    PUNA_TRY(args.y, bench.output(n_y));
    PUNA_TRY(const std::vector<KernelCall> calls, describe(bench));
    PUNA_TRY(bench.run(calls, {step.n_tokens, step.n_tokens, 1}));
    PUNA_TRY(bench.read(args.state, state, n_slots * state_floats));
    return bench.read(args.y, y, n_y);
  }

  static Result<void> repack_piece(Workbench& bench, const KernelCall& call,
                                   const RepackPiece& piece) {
    KernelCall with_grid = call;
    with_grid.x = {Extent::kOne, repack_workgroups(piece), 1};
    return bench.run(std::span(&with_grid, 1), {});
  }

  Result<Slice> pages(Workbench& bench, const CpuStep& step, const KvLayout& kv) {
    return bench.upload(step.pages, kv.n_pages);
  }

  // The weight repacked into planes by the device itself.
  Result<GpuWeight> weight(Workbench& bench, quant::Type type, std::span<const std::byte> file_rows,
                           uint32_t rows, uint32_t cols) {
    RepackArgs r;
    r.label = "repack";
    r.type = type;
    r.rows = rows;
    r.cols = cols;
    PUNA_TRY(r.staged, bench.upload(file_rows));
    const quant::PlaneLayout layout = quant::plane_layout(type, rows, cols);
    std::vector<std::byte> planes(static_cast<size_t>(layout.bytes));
    const auto grid = std::as_bytes(std::span(quant::planes_of(type).grid));
    std::copy(grid.begin(), grid.end(),
              planes.begin() + static_cast<std::ptrdiff_t>(layout.grid_offset_bytes));
    PUNA_TRY(r.planes, bench.upload(std::span<const std::byte>(planes)));
    const RepackPiece piece{0, rows, 0, cols, 0};
    PUNA_TRY(const auto params, repack_params(r, piece));
    PUNA_TRY(r.params, bench.upload(std::span<const uint32_t>(params)));
    PUNA_TRY(const KernelCall call, repack(r));
    PUNA_TRY(repack_piece(bench, call, piece));
    return GpuWeight{type, rows, cols, {{r.planes, 0, rows}}};
  }

  gpu::Device& device_;
  std::unique_ptr<Operations> operations_;
};

}  // namespace

std::unique_ptr<SelftestBackend> selftest_gpu(gpu::Device& device) {
  return std::make_unique<GpuBackend>(device);
}

}  // namespace puna::kernels
