// A layer's experts: every row goes through the n_chosen experts that its router picks (route.h),
// and their results are added up by its weights.
//   y[t] (+)= sum over chosen e of weight(t, e) * (down[e] h + down_bias[e]),
//   h = gate(gate[e] x[t] + gate_bias[e], up[e] x[t] + up_bias[e])
//   logits   [n_rows, n_experts]           f32, of the router
//   x        [n_rows, hidden]              f32
//   gate_up  [n_experts * 2 * ffn, hidden] any weight type; of each expert 4-row groups gate, up
//   ... down     [n_experts * hidden, ffn]     any weight type y        [n_rows, hidden] f32
// Rows of a step are grouped by expert, so that an expert's weights are read once for all of them;
// a step of one row reads its experts side by side. The GPU form never asks the host which experts
// were chosen. Read next: route.h, matmul/matmul.h.
#pragma once

#include <optional>
#include <vector>

#include "kernels/matmul/matmul.h"
#include "kernels/moe/route.h"

namespace puna::kernels {

struct MoeShape {
  uint32_t hidden = 0;
  uint32_t ffn = 0;  // of one expert; a multiple of 8
  RouteParams route;
  Epilogue gate = Epilogue::kSwiGlu;  // a gated one; kActivate: no gate, h = GELU(up), no bias
};
// Errors: kUnsupported naming what is out of range.
base::Result<void> check_moe(std::string_view label, const MoeShape& shape);

struct MoeArgs {
  std::string label;
  MoeShape shape;
  GpuWeight gate_up, down;  // chunks of whole experts
  Slice step = {};
  Slice logits = {};
  Slice x = {};
  Slice y = {};
  std::optional<Slice> selection_bias = {};
  std::optional<Slice> gate_up_bias = {};  // [n_experts * 2 * ffn] as the rows of gate_up lie
  std::optional<Slice> down_bias = {};     // [n_experts * hidden]
  bool adds = false;                       // y += instead of y =
  // In buffers of their own, which other layers' experts may use after: moe_routes_bytes() and
  // moe_groups_bytes().
  Slice routes = {};
  Slice groups = {};
  Slice scratch = {};  // of moe_scratch_bytes()
  Numerics numerics = Numerics::kExact;
  uint32_t max_rows = 1;
  Rows rows = Rows::kTokens;
};
uint64_t moe_routes_bytes(const MoeShape& shape, uint32_t max_rows);
uint64_t moe_groups_bytes(const MoeShape& shape, uint32_t max_rows);
// The form of x that the products of the experts read: kF16 when one of them does.
XForm moe_x_form(const gpu::DeviceInfo& device, const MoeArgs& args);
uint64_t moe_scratch_bytes(const gpu::DeviceInfo& device, const MoeArgs& args);
base::Result<void> moe(const gpu::DeviceInfo& device, const MoeArgs& args,
                       std::vector<KernelCall>& out);

// The CPU form; y may not overlap x. hidden and 2 * ffn are multiples of CpuMatrix::kRowGroup.
struct MoeCpuArgs {
  MoeShape shape;
  const CpuMatrix* gate_up = nullptr;
  const CpuMatrix* down = nullptr;
  const float* logits = nullptr;
  const float* selection_bias = nullptr;  // [n_experts], null = none
  const float* gate_up_bias = nullptr;  // [n_experts * 2 * ffn] as the rows of gate_up lie, or null
  const float* down_bias = nullptr;     // [n_experts * hidden], or null
  const float* x = nullptr;
  float* y = nullptr;
  bool adds = false;  // y += instead of y =
  uint32_t n_rows = 0;
  std::byte* scratch = nullptr;  // moe_cpu_scratch_bytes(), 64-byte aligned
};
uint64_t moe_cpu_scratch_bytes(const MoeShape& shape, uint32_t max_rows);
void moe_cpu(base::ThreadPool& pool, const MoeCpuArgs& args);

}  // namespace puna::kernels
