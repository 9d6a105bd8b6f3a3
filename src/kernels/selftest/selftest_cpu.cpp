#include <algorithm>
#include <new>

#include "kernels/embed/embed.h"
#include "kernels/sample/sample_cpu.h"
#include "kernels/selftest/selftest.h"

namespace puna::kernels {
namespace {

using base::Result;

// 64-byte aligned scratch, as the kernels ask for.
class Scratch {
 public:
  explicit Scratch(uint64_t bytes)
      : memory_(static_cast<std::byte*>(::operator new(
            std::max(static_cast<size_t>(bytes), size_t{1}), std::align_val_t{64}))) {}
  ~Scratch() { ::operator delete(memory_, std::align_val_t{64}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data() const { return memory_; }

 private:
  std::byte* memory_;
};

class CpuBackend : public SelftestBackend {
 public:
  explicit CpuBackend(base::ThreadPool& pool) : pool_(pool), operations_(operations_cpu(pool)) {}

  Result<XForm> matmul(const Matmul& args) override {
    PUNA_TRY(CpuMatrix matrix, CpuMatrix::create(args.type, args.rows, args.cols, args.numerics));
    matrix.set_rows(0, args.file_rows);
    const bool gated = is_gated(args.epilogue);
    const Scratch scratch(matmul_cpu_scratch_bytes(args.cols, args.n_rows));
    MatmulCpuArgs cpu;
    cpu.weight = &matrix;
    cpu.x = args.x;
    cpu.y = args.y;
    cpu.n_rows = args.n_rows;
    cpu.y_stride = gated ? args.rows / 2 : args.rows;
    cpu.epilogue = args.epilogue;
    cpu.bias = args.bias;
    cpu.scale = args.scale;
    cpu.activation = args.activation;
    cpu.scratch = scratch.data();
    matmul_cpu(pool_, cpu);
    return matmul_cpu_x_form(args.type, args.numerics, args.n_rows);
  }
  Result<XForm> moe(quant::Type type, Numerics numerics, std::span<const std::byte> gate_up,
                    std::span<const std::byte> down, const MoeCpuArgs& args) override {
    const MoeShape& shape = args.shape;
    const uint32_t n = shape.route.n_experts;
    PUNA_TRY(CpuMatrix gate_up_matrix,
             CpuMatrix::create(type, n * 2 * shape.ffn, shape.hidden, numerics));
    PUNA_TRY(CpuMatrix down_matrix, CpuMatrix::create(type, n * shape.hidden, shape.ffn, numerics));
    gate_up_matrix.set_rows(0, gate_up);
    down_matrix.set_rows(0, down);
    const Scratch scratch(moe_cpu_scratch_bytes(shape, args.n_rows));
    MoeCpuArgs cpu = args;
    cpu.gate_up = &gate_up_matrix;
    cpu.down = &down_matrix;
    cpu.scratch = scratch.data();
    moe_cpu(pool_, cpu);
    return matmul_cpu_x_form(type, numerics, args.n_rows);
  }
  Result<void> embed(quant::Type type, std::span<const std::byte> file_rows, uint32_t rows,
                     uint32_t cols, std::span<const int32_t> tokens, float scale,
                     float* x) override {
    PUNA_TRY(CpuMatrix matrix, CpuMatrix::create(type, rows, cols, Numerics::kExact));
    matrix.set_rows(0, file_rows);
    embed_cpu(pool_, {&matrix, tokens.data(), static_cast<uint32_t>(tokens.size()), x, scale});
    return {};
  }
  Result<void> norm(const NormCpuArgs& args) override {
    rms_norm_cpu(pool_, args);
    return {};
  }
  Result<void> norm_parts(const NormPartsCpuArgs& args) override {
    norm_parts_cpu(pool_, args);
    return {};
  }
  Result<void> rope(const RopeCpuArgs& args) override {
    rope_append_cpu(pool_, args);
    return {};
  }
  Result<void> attention(const AttentionCpuArgs& args) override {
    const Scratch scratch(attention_cpu_scratch_bytes(pool_.n_threads(), args.n_heads,
                                                      args.kv.head_dim, args.step.n_tokens));
    AttentionCpuArgs with_scratch = args;
    with_scratch.scratch = scratch.data();
    attention_cpu(pool_, with_scratch);
    return {};
  }
  Result<void> glu(const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
                   Activation activation) override {
    glu_cpu(pool_, gate_up, y, n_rows, n, activation);
    return {};
  }
  Result<void> softcap(float* y, uint32_t n_rows, uint32_t n, float cap) override {
    softcap_cpu(pool_, y, uint64_t{n_rows} * n, cap);
    return {};
  }
  Result<void> gate(const float* x, float* y, uint32_t n_rows, uint32_t n,
                    uint32_t n_gates) override {
    gate_cpu(pool_, x, y, n_rows, n, n_gates);
    return {};
  }
  Result<void> group_norm(const GroupNormCpuArgs& args) override {
    group_norm_cpu(pool_, args);
    return {};
  }
  Result<void> conv(const ConvCpuArgs& args) override {
    conv_cpu(pool_, args);
    return {};
  }
  Result<void> ssd(const SsdCpuArgs& args) override {
    ssd_cpu(pool_, args);
    return {};
  }
  Result<void> delta(const DeltaCpuArgs& args) override {
    delta_cpu(pool_, args);
    return {};
  }
  Result<void> sample(std::span<const SamplingParams> params,
                      std::span<const std::vector<int32_t>> texts, std::span<const float> logits,
                      std::span<int32_t> ids) override {
    CpuSampler sampler;
    const size_t vocab = logits.size() / ids.size();
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = sampler.sample(params[i], logits.subspan(i * vocab, vocab), texts[i],
                              static_cast<uint32_t>(texts[i].size()));
    }
    return {};
  }

  Operations& operations() override { return *operations_; }

 private:
  base::ThreadPool& pool_;
  std::unique_ptr<Operations> operations_;
};

}  // namespace

std::unique_ptr<SelftestBackend> selftest_cpu(base::ThreadPool& pool) {
  return std::make_unique<CpuBackend>(pool);
}

}  // namespace puna::kernels
