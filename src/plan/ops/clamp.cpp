#include "plan/ops/clamp.h"

#include "kernels/copy/copy.h"
#include "kernels/elementwise/binary.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::Binary;
using kernels::BinaryShape;
using kernels::KernelCall;
using kernels::Spread;

namespace {

struct Bound {
  Binary op;
  VectorId by;
};
std::array<Bound, 2> bounds(const ClampOp& op) {
  return {{{Binary::kMost, op.low}, {Binary::kLeast, op.high}}};
}

kernels::CopyShape whole_rows(uint32_t n_rows, uint32_t n) { return {{n_rows, n}, {n, 1}, {n, 1}}; }

}  // namespace

std::vector<Constant> ClampOp::constants() const { return {{{low}}, {{high}}}; }

Result<void> ClampOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  const uint32_t n = at.columns(y);
  if (x) {
    PUNA_TRY(kernels::copy(at.device,
                           {.label = label,
                            .x = at.value(*x),
                            .y = at.value(y),
                            .shape = whole_rows(at.max_rows, n),
                            .rows = at.rows(y)},
                           calls));
  }
  for (const Bound& bound : bounds(*this)) {
    PUNA_TRY(kernels::binary(at.device,
                             {.label = label,
                              .x = at.vector(bound.by),
                              .y = at.value(y),
                              .shape = {bound.op, n, Spread::kOne},
                              .x_is_constant = true,
                              .rows = at.rows(y)},
                             calls));
  }
  return {};
}

void ClampOp::run(const CpuRun& at) const {
  const uint32_t n_rows = at.n_rows(y), n = at.columns(y);
  if (x) kernels::copy_cpu(at.pool, {at.value(*x), at.value(y), whole_rows(n_rows, n)});
  for (const Bound& bound : bounds(*this)) {
    const BinaryShape shape{bound.op, n, Spread::kOne};
    kernels::binary_cpu(at.pool, {at.vector(bound.by), at.value(y), n_rows, shape});
  }
}

}  // namespace puna::plan
