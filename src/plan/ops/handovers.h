// What products, norms and attention of a batch class hand over to the products after them
// (kernels/matmul/matmul.h): results in the form that the reader wants, through a norm or straight.
#pragma once

#include <optional>
#include <vector>

#include "kernels/matmul/matmul.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct Handovers {
  // By op: the form in which the op before left x, and that in which this op leaves its result.
  std::vector<std::optional<kernels::XForm>> taken, given;
};

// Of all ops, in the batch class of `at`; what its own handovers say does not count.
Handovers handovers(const GpuLowering& at);

// Where a value lies that is handed over: the place of the value itself.
kernels::Slice handed_slice(const GpuLowering& at, ValueId id, kernels::XForm form);

}  // namespace puna::plan
