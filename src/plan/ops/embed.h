// EmbedOp: the role of kernels/embed/embed.h.
#pragma once

#include "kernels/embed/embed.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct EmbedOp {
  // The same for all of them, under the name that it has in other ops.
  // NOLINTNEXTLINE(readability-identifier-naming)
  static constexpr const char* label = "embed";
  WeightId weight;
  ValueId out;
  float scale = 1.0f;
  kernels::EmbedRow row = kernels::EmbedRow::kToken;
  bool add = false;
  kernels::EmbedMedia of_media = kernels::EmbedMedia::kNone;

  static void values(auto& op, auto&& use) { use(op.out, op.add ? Use::kUpdate : Use::kWrite); }
  std::vector<WeightId> weights() const { return {weight}; }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
