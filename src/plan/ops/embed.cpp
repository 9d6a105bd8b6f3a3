#include "plan/ops/embed.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> EmbedOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::embed(at.device,
                        {label, at.plan.weights[weight], at.plan.step, at.value(out), scale, row,
                         add, of_media, at.plan.media, at.graph.media_columns},
                        calls);
}

void EmbedOp::run(const CpuRun& at) const {
  const int32_t* const rows[] = {at.tokens.data(), at.step.positions, nullptr};  // by EmbedRow
  kernels::embed_cpu(
      at.pool, {&at.matrix(weight), rows[static_cast<size_t>(row)], at.step.n_tokens, at.value(out),
                scale, add, of_media == kernels::EmbedMedia::kRows ? at.media.data() : nullptr,
                at.graph.media_columns});
}

}  // namespace puna::plan
