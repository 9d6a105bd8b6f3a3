#include "plan/ops/matmul.h"

#include "kernels/common/beside.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

// Which logits are computed exactly: at most this far below the largest (0.7 % of its probability),
// and so many of a row. docs/numerics.md has what they buy.
constexpr float kSharpWithin = 5;
constexpr uint32_t kSharpCount = 32;

// Products with one x run side by side where they can (kernels/common/beside.h).
void join_last(const GpuLowering& at, std::vector<KernelCall>& out) {
  if (at.max_rows > kernels::kMatvecRows) return;
  if (auto both = kernels::beside(at.device, out.end()[-2], out.back())) {
    out.pop_back();
    out.back() = *std::move(both);
  }
}

kernels::XForm x_form(const CpuRun& at, const MatmulOp& op) {
  const kernels::CpuMatrix& weight = at.matrix(op.weight);
  return kernels::matmul_cpu_x_form(weight.type(), weight.numerics(), at.n_rows(op.x));
}

// The product that gives logits, from int8 activations: the widest of all. Where it is bound by
// arithmetic and not by memory, a second plane of activations would cost what it saves elsewhere;
// the few logits that matter are computed exactly instead. A part that hands over values has none.
bool is_sharpened(const CpuRun& at, const MatmulOp& op) {
  return op.y == at.graph.logits && !at.graph.embeds && at.graph.hands_over.empty() &&
         x_form(at, op) == kernels::XForm::kInt8;
}

}  // namespace

uint32_t x_planes(const Graph& graph, const MatmulOp& op) {
  return graph.values[op.y].rows == Rows::kOutputs ? 2 : 1;
}

kernels::MatmulArgs matmul_args(const GpuLowering& at, const MatmulOp& op) {
  kernels::MatmulArgs args;
  args.label = op.label;
  args.weight = at.plan.weights[op.weight];
  args.step = at.plan.step;
  args.x = at.value(op.x);
  args.y = at.value(op.y);
  args.y_stride = at.columns(op.y);
  args.y_column = op.y_column;
  args.bias = at.vector(op.bias);
  args.scale = op.scale;
  args.epilogue = op.epilogue;
  args.softcap = op.softcap;
  args.activation = op.activation;
  args.numerics = at.options.numerics;
  args.max_rows = at.max_rows;
  args.x_planes = x_planes(at.graph, op);
  args.profile = at.options.profile;
  args.rows = at.rows(op.x);
  args.scratch = at.scratch();
  // Products before it with the same x have left the form that this one reads.
  if (op.shares_x) {
    const GpuLowering before = at.of(at.op - 1);
    const auto other = matmul_args(before, std::get<MatmulOp>(at.graph.ops[before.op]));
    args.x_in_scratch =
        kernels::matmul_x_form(at.device, other) == kernels::matmul_x_form(at.device, args);
  }
  return args;
}

bool makes_norm(const GpuLowering& at, const MatmulOp& op) {
  return op.x_norm && kernels::matmul_makes_norm(at.device, matmul_args(at, op));
}

std::vector<Constant> MatmulOp::constants() const {
  return bias ? std::vector<Constant>{{{*bias}}} : std::vector<Constant>{};
}

uint64_t MatmulOp::gpu_scratch_bytes(const GpuLowering& at) const {
  return kernels::matmul_scratch_bytes(at.device, matmul_args(at, *this));
}

uint64_t MatmulOp::cpu_scratch_bytes(const Graph& graph, uint32_t rows, int) const {
  return kernels::matmul_cpu_scratch_bytes(graph.values[x].columns, rows * x_planes(graph, *this));
}

Result<void> MatmulOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::MatmulArgs args = matmul_args(at, *this);
  const auto& taken = at.handovers.taken[at.op];
  const auto& given = at.handovers.given[at.op];
  if (taken == kernels::XForm::kF16) {
    args.x_in_scratch = true;
  } else if (taken) {
    args.handed = kernels::HandedX{*taken, {}};
    if (x_norm) {
      args.handed->norm_eps = x_norm->eps;
      args.x = handed_slice(at, x, *taken);
    }
  } else if (makes_norm(at, *this)) {
    args.norm = {at.value(x_norm->x), at.vector(*x_norm->gamma), x_norm->eps};
  }
  if (given && y_norm) {
    args.hands = {handed_slice(at, *y_norm->y, *given), *given, at.vector(*y_norm->gamma)};
  } else if (given) {
    args.hands = {at.value(y), *given, {}};
  }
  const size_t before = calls.size();
  PUNA_TRY(kernels::matmul(at.device, args, calls));
  if (shares_x && calls.size() == before + 1) join_last(at, calls);
  return {};
}

void MatmulOp::run(const CpuRun& at) const {
  kernels::MatmulCpuArgs args;
  args.weight = &at.matrix(weight);
  args.x = at.value(x);
  args.y = at.value(y);
  args.n_rows = at.n_rows(x);
  args.y_stride = at.columns(y);
  args.y_column = y_column;
  args.bias = at.vector(bias);
  args.scale = scale;
  args.epilogue = epilogue;
  args.softcap = softcap;
  args.activation = activation;
  args.x_planes = is_sharpened(at, *this) ? 1 : x_planes(at.graph, *this);
  args.scratch = at.scratch();
  // The product before it has left x only in the form that it read itself.
  args.x_in_scratch =
      shares_x && x_form(at, std::get<MatmulOp>(at.graph.ops[at.op - 1])) == x_form(at, *this);
  kernels::matmul_cpu(at.pool, args);
  if (is_sharpened(at, *this)) kernels::matmul_top_cpu(at.pool, args, kSharpWithin, kSharpCount);
}

}  // namespace puna::plan
