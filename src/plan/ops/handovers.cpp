#include "plan/ops/handovers.h"

#include <algorithm>

#include "plan/gpu_lowering.h"
#include "quant/planes.h"

namespace puna::plan {

using kernels::XForm;

namespace {

// Through the norm after the product, to all the products after that, if they agree on a form.
void hand_through_norm(const GpuLowering& at, const MatmulOp& op, Handovers& out) {
  const std::vector<Op>& ops = at.graph.ops;
  const ValueId y = *op.y_norm->y;
  std::optional<XForm> form;
  size_t end = at.op + 2;
  for (; end < ops.size(); ++end) {
    const auto* reader = std::get_if<MatmulOp>(&ops[end]);
    if (!reader || !reader->x_norm || reader->x_norm->y != y) break;
    const auto taken =
        kernels::matmul_takes(at.device, matmul_args(at.of(end), *reader), /*normed=*/true);
    if (!taken || (form && *form != *taken)) return;
    form = taken;
  }
  if (!form || handed_slice(at, y, *form).bytes > at.arena.values[y].bytes ||
      !kernels::matmul_hands(at.device, matmul_args(at, op), *form, /*normed=*/true)) {
    return;
  }
  out.given[at.op] = form;
  std::fill(out.taken.begin() + static_cast<ptrdiff_t>(at.op + 2),
            out.taken.begin() + static_cast<ptrdiff_t>(end), form);
}

bool can_hand_bytes(const GpuLowering& at, const MatmulOp& op) {
  return kernels::matmul_hands(at.device, matmul_args(at, op), XForm::kInt8, /*normed=*/false);
}
bool can_hand_bytes(const GpuLowering& at, const AttentionOp& op) { return hands_bytes(at, op); }

// To the next product, in the place of the result.
void hand_bytes(const GpuLowering& at, const auto& op, Handovers& out) {
  const GpuLowering next = at.of(at.op + 1);
  const auto& reader = std::get<MatmulOp>(at.graph.ops[next.op]);
  const auto taken = kernels::matmul_takes(at.device, matmul_args(next, reader), /*normed=*/false);
  if (taken == XForm::kInt8 && can_hand_bytes(at, op))
    out.given[at.op] = out.taken[next.op] = taken;
}

// As f16 to all the products after the norm, in the scratch that they share.
void hand_halves(const GpuLowering& at, const NormOp& norm, Handovers& out) {
  const std::vector<Op>& ops = at.graph.ops;
  const size_t first = at.op + 1;
  size_t end = first;
  for (; end < ops.size(); ++end) {
    const auto* reader = std::get_if<MatmulOp>(&ops[end]);
    if (!reader || !reader->x_norm || reader->x_norm->y != norm.y) break;
    if (kernels::matmul_x_form(at.device, matmul_args(at.of(end), *reader)) != XForm::kF16) return;
  }
  // The head may run several times behind one body.
  const bool parts = at.op < at.graph.head_begin && end > at.graph.head_begin;
  if (end == first || parts || at.columns(*norm.y) % quant::kUnit != 0) return;
  out.given[at.op] = out.taken[first] = XForm::kF16;
}

}  // namespace

Handovers handovers(const GpuLowering& at) {
  const std::vector<Op>& ops = at.graph.ops;
  Handovers out;
  out.taken.resize(ops.size());
  out.given.resize(ops.size());
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    const auto* norm = std::get_if<NormOp>(&ops[i]);
    if (norm && !(i > 0 && out.given[i - 1])) hand_halves(at.of(i), *norm, out);
    const auto* product = std::get_if<MatmulOp>(&ops[i]);
    if (product && product->y_norm) hand_through_norm(at.of(i), *product, out);
    if (product && product->feeds_next) hand_bytes(at.of(i), *product, out);
    const auto* attention = std::get_if<AttentionOp>(&ops[i]);
    if (attention && attention->feeds_next) hand_bytes(at.of(i), *attention, out);
  }
  return out;
}

kernels::Slice handed_slice(const GpuLowering& at, ValueId id, XForm form) {
  return {at.plan.arena.buffer, at.arena.values[id].offset,
          kernels::matmul_handover_bytes(at.columns(id), at.max_rows, form)};
}

}  // namespace puna::plan
