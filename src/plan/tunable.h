// The kernels of a model that have knobs, for `puna tune`: each kind once, however many layers use
// it.
#pragma once

#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/matmul/matmul.h"
#include "plan/gpu_plan.h"

namespace puna::plan {

struct TunableProduct {
  kernels::MatmulArgs args;  // weight, class, numerics and epilogue; no slices
  uint32_t n_uses = 0;       // in a step
};
struct TunableAttention {
  kernels::AttentionArgs args;  // shape and class; no slices
  uint32_t n_uses = 0;
};
struct TunableKernels {
  std::vector<TunableProduct> products;
  std::vector<TunableAttention> attention;
};

// Of the plan's classes of one row and of a whole step of a prompt; the head runs with one row
// only.
TunableKernels tunable_kernels(const Graph& graph, const CacheConfig& cache, const GpuPlan& plan,
                               const GpuPlanOptions& options);

}  // namespace puna::plan
