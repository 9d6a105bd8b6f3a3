// A role's cases on the first adapter, with all its features and with none.
#pragma once

#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/operation_test.h"

namespace puna::kernels::test {

inline void check_operation_gpu(std::string_view role) {
  base::ThreadPool pool(1);
  for (const Features features : {Features::kAll, Features::kBaseline}) {
    const auto gpu = GpuHarness::open(features);
    if (!gpu) return;
    check_operation({pool, &gpu->device()}, role);
  }
}

}  // namespace puna::kernels::test
