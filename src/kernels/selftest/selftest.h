// The self-test: every role and weight type on a device against its plain reference, on the user's
// own machine. Cases are written once (selftest.cpp) over a Backend, which runs a role on arrays in
// host memory; there is one for the CPU kernels (selftest_cpu.cpp) and one for a gpu::Device
// (selftest_gpu.cpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gpu/device.h"
#include "kernels/attention/attention.h"
#include "kernels/conv/conv.h"
#include "kernels/delta/delta.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/matmul/matmul.h"
#include "kernels/moe/moe.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_parts.h"
#include "kernels/rope/rope.h"
#include "kernels/sample/sampling.h"
#include "kernels/selftest/operations.h"
#include "kernels/ssd/ssd.h"
#include "quant/quant.h"

namespace puna::kernels {

struct SelftestResult {
  std::string role;   // "matmul"
  std::string type;   // weight or cache type and numerics: "q4_k fast"
  std::string shape;  // "64x512, 4 rows"
  double nmse = 0;    // against the plain reference; not finite when the output holds NaN
  double limit = 0;
  bool pass() const { return nmse <= limit; }
};

struct SelftestOptions {
  std::string filter;  // runs cases whose role or type contains this
  std::function<void(const SelftestResult&)> on_result;
  const std::atomic<bool>* cancel = nullptr;
};

// A device as functions on host arrays. The CPU argument structs serve as the description for every
// device.
class SelftestBackend {
 public:
  virtual ~SelftestBackend() = default;

  struct Matmul {
    quant::Type type;
    std::span<const std::byte> file_rows;
    uint32_t rows, cols, n_rows;
    const float* x;
    float* y;  // [n_rows, rows], half of it when gated
    Epilogue epilogue = Epilogue::kStore;
    Numerics numerics = Numerics::kExact;
    const float* bias = nullptr;  // [rows]
    float scale = 1.0f;
    Activation activation = Activation::kSilu;
  };
  // Gives the form in which a call before the product left x.
  virtual base::Result<XForm> matmul(const Matmul& args) = 0;
  // Experts of one weight type each; args.gate_up and args.down are made of the rows here. Gives
  // the form of x as above.
  virtual base::Result<XForm> moe(quant::Type type, Numerics numerics,
                                  std::span<const std::byte> gate_up,
                                  std::span<const std::byte> down, const MoeCpuArgs& args) = 0;
  // The rows of a weight as an embedding table gives them: x [tokens, cols].
  virtual base::Result<void> embed(quant::Type type, std::span<const std::byte> file_rows,
                                   uint32_t rows, uint32_t cols, std::span<const int32_t> tokens,
                                   float scale, float* x) = 0;
  virtual base::Result<void> norm(const NormCpuArgs& args) = 0;
  virtual base::Result<void> norm_parts(const NormPartsCpuArgs& args) = 0;
  virtual base::Result<void> rope(const RopeCpuArgs& args) = 0;
  virtual base::Result<void> attention(const AttentionCpuArgs& args) = 0;
  virtual base::Result<void> glu(const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
                                 Activation activation) = 0;
  virtual base::Result<void> softcap(float* y, uint32_t n_rows, uint32_t n, float cap) = 0;
  // y *= sigmoid(x), x of n_gates columns.
  virtual base::Result<void> gate(const float* x, float* y, uint32_t n_rows, uint32_t n,
                                  uint32_t n_gates) = 0;
  virtual base::Result<void> group_norm(const GroupNormCpuArgs& args) = 0;
  // Layers with state: args.state holds a slot for each of the step's sequences, 0 to the last.
  virtual base::Result<void> conv(const ConvCpuArgs& args) = 0;
  virtual base::Result<void> ssd(const SsdCpuArgs& args) = 0;
  virtual base::Result<void> delta(const DeltaCpuArgs& args) = 0;
  // Row i continues texts[i] by params[i]: logits [rows, vocab], ids [rows].
  virtual base::Result<void> sample(std::span<const SamplingParams> params,
                                    std::span<const std::vector<int32_t>> texts,
                                    std::span<const float> logits, std::span<int32_t> ids) = 0;
  virtual Operations& operations() = 0;
};

std::unique_ptr<SelftestBackend> selftest_cpu(base::ThreadPool& pool);
std::unique_ptr<SelftestBackend> selftest_gpu(gpu::Device& device);

// Runs all cases that the filter lets through. Errors: what a device refuses; kCancelled.
base::Result<std::vector<SelftestResult>> selftest(SelftestBackend& backend,
                                                   const SelftestOptions& options);

}  // namespace puna::kernels
