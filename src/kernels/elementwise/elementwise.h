// Plain elementwise passes, kept unfused for models and tests that need them alone. All f32, in
// place on y [n_rows, n].
//   scale: y *= s, or by[0]      softcap: y = cap * tanh(y / cap)
//   glu: y = act(gate) * up (its own y)
//   gate: y *= sigmoid(x), of a gate for each element or one for the whole row
// unary.h has the functions of one element, binary.h sums, products and the like.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/activation.h"
#include "kernels/common/call.h"

namespace puna::kernels {

// x [n_rows, n_gates]
struct GateArgs {
  std::string label;
  Slice step = {}, x = {}, y = {};
  uint32_t n = 0;
  uint32_t n_gates = 0;  // n or 1
  Rows rows = Rows::kTokens;
};
struct ScaleArgs {
  std::string label;
  Slice step = {}, y = {};
  uint32_t n = 0;
  float scale = 1.0f;
  std::optional<Slice> by = {};  // [1] f32, instead of scale
  Rows rows = Rows::kTokens;
};
struct SoftcapArgs {
  std::string label;
  Slice step = {}, y = {};
  uint32_t n = 0;
  float cap = 0.0f;
  Rows rows = Rows::kTokens;
};
// gate_up [n_rows, 2 * n]: gate in the first n columns, up in the last n.
struct GluArgs {
  std::string label;
  Slice step = {}, gate_up = {}, y = {};
  uint32_t n = 0;
  Activation activation = Activation::kSilu;
  Rows rows = Rows::kTokens;
};
base::Result<void> gate(const gpu::DeviceInfo& device, const GateArgs& args,
                        std::vector<KernelCall>& out);
base::Result<void> scale(const gpu::DeviceInfo& device, const ScaleArgs& args,
                         std::vector<KernelCall>& out);
base::Result<void> softcap(const gpu::DeviceInfo& device, const SoftcapArgs& args,
                           std::vector<KernelCall>& out);
base::Result<void> glu(const gpu::DeviceInfo& device, const GluArgs& args,
                       std::vector<KernelCall>& out);

void gate_cpu(base::ThreadPool& pool, const float* x, float* y, uint32_t n_rows, uint32_t n,
              uint32_t n_gates);
void scale_cpu(base::ThreadPool& pool, float* y, uint64_t n_elements, float scale);
void softcap_cpu(base::ThreadPool& pool, float* y, uint64_t n_elements, float cap);
void glu_cpu(base::ThreadPool& pool, const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
             Activation activation);

}  // namespace puna::kernels
