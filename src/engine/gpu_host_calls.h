// Computes what a GpuProgram leaves to the host in the middle of its steps
// (plan::GpuPlan::HostCall): reads the rows back, runs the op on the CPU, writes its result where
// the GPU goes on from.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/kernel_times.h"
#include "gpu/device.h"
#include "plan/cpu_program.h"
#include "plan/gpu_program.h"

namespace puna::engine {

class GpuHostCalls {
 public:
  // device and gpu outlive it.
  GpuHostCalls(gpu::Device& device, const plan::GpuProgram& gpu,
               std::unique_ptr<plan::CpuProgram> host)
      : device_(device), gpu_(gpu), host_(std::move(host)) {}
  ~GpuHostCalls();
  base::Result<void> create_readback();

  // Submits the list, whose end is all that comes before the call in its step, and waits for it.
  // What the list held is of no use any more. Errors: those of the device.
  base::Task<base::Result<void>> run(const plan::GpuPlan::HostCall& call, uint32_t n_rows,
                                     gpu::CommandList& list);

  // Adds what the calls of a step take on the CPU alone, each with another choice of experts for
  // each row: the best of some tries. The hand-overs are not in it.
  void add_times(const kernels::StepShape& shape, StepTimes& times);

  plan::MemoryUse memory() const { return host_->memory(); }

 private:
  gpu::Device& device_;
  const plan::GpuProgram& gpu_;
  std::unique_ptr<plan::CpuProgram> host_;
  gpu::BufferId readback_;
  std::vector<float> x_, y_;
};

}  // namespace puna::engine
