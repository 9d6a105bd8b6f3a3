// What checks share on a GPU: calls are described, run on a workbench, and results read back.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/workbench.h"

namespace puna::kernels {

// The batch class that a plan has for so many rows.
inline uint32_t batch_class(uint32_t n_rows) {
  for (uint32_t rows : {1u, 2u, 4u, 8u, 16u}) {
    if (n_rows <= rows) return rows;
  }
  return kMaxStepTokens;
}

// Runs what describe(device, args, calls) describes over n_rows rows.
template <class Args>
base::Result<void> run_rows(Workbench& bench,
                            base::Result<void> (&describe)(const gpu::DeviceInfo&, const Args&,
                                                           std::vector<KernelCall>&),
                            const Args& args, uint32_t n_rows) {
  std::vector<KernelCall> calls;
  PUNA_TRY(describe(bench.info(), args, calls));
  return bench.run(calls, {n_rows, n_rows, 1});
}

// The same, and reads args.y back into y.
template <class Args, class T>
base::Result<void> run_and_read(Workbench& bench, uint32_t n_rows,
                                base::Result<void> (&describe)(const gpu::DeviceInfo&, const Args&,
                                                               std::vector<KernelCall>&),
                                const Args& args, T* y, uint64_t n) {
  PUNA_TRY(run_rows(bench, describe, args, n_rows));
  return bench.read(args.y, y, n);
}

}  // namespace puna::kernels
