// GpuProgram: a GpuPlan made real on a device. Buffers, pipelines and bind groups exist once;
// recording a step is a loop over the flat list of dispatches with grids computed from the step's
// shape. Read next: pipelines.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"
#include "plan/gpu_plan.h"
#include "plan/pipelines.h"

namespace puna::plan {

class GpuProgram {
 public:
  enum class Part : uint8_t { kBody, kHead, kSample };

  // Allocates all buffers. `device` outlives the program. Errors: kOutOfMemory naming the buffer.
  static base::Result<std::unique_ptr<GpuProgram>> create(gpu::Device& device, GpuPlan plan);
  // Has all kernels compiled. Where the device does so beside other work (in a page), the caller
  // uses the time until it awaits compiled(), before the first step. Errors: kDevice with the
  // compiler's message.
  base::Result<void> compile();
  base::Task<base::Result<void>> compiled();
  ~GpuProgram();
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;

  const GpuPlan& plan() const { return plan_; }
  gpu::BufferId buffer(const kernels::Slice& slice) const { return buffers_[slice.buffer]; }

  const std::vector<GpuPlan::BatchClass>& classes(Part part) const;
  // The class of a part for a step, as class_for() of gpu_plan.h has it.
  size_t class_for(Part part, const kernels::StepShape& shape) const;
  // What the host computes between the dispatches of that class.
  std::span<const GpuPlan::HostCall> host_calls(Part part, const kernels::StepShape& shape) const;
  // Appends the dispatches of that class.
  void record(Part part, const kernels::StepShape& shape, gpu::CommandList& list) const;
  // The same of dispatches [first, first + n), as many as there are; how many were appended.
  size_t record(Part part, const kernels::StepShape& shape, size_t first, size_t n,
                gpu::CommandList& list) const;

 private:
  struct Dispatch {
    gpu::PipelineId pipeline;
    gpu::BindGroupId bind_group;
    kernels::GridDim x, y, z;
  };
  using Classes = std::vector<std::vector<Dispatch>>;

  GpuProgram(gpu::Device& device, GpuPlan plan) : device_(device), plan_(std::move(plan)) {}
  base::Result<void> create_buffers();

  gpu::Device& device_;
  GpuPlan plan_;
  std::vector<gpu::BufferId> buffers_;  // by Slice::buffer
  // From compile() to compiled().
  std::optional<Pipelines> pipelines_;
  std::vector<size_t> pipeline_of_call_;
  Classes dispatches_[3];  // by Part
};

}  // namespace puna::plan
