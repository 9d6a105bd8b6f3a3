// GpuProgram: a GpuPlan made real on a device. Buffers, pipelines and bind groups exist once;
// recording a step is a loop over the flat list of dispatches with grids computed from the step's
// shape.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"
#include "plan/gpu_plan.h"

namespace puna::plan {

class GpuProgram {
 public:
  enum class Part : uint8_t { kBody, kHead, kSample };

  // `device` outlives the program. Errors: kOutOfMemory naming the buffer, kDevice with the
  // compiler's message.
  static base::Task<base::Result<std::unique_ptr<GpuProgram>>> create(gpu::Device& device,
                                                                      GpuPlan plan);
  ~GpuProgram();
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;

  const GpuPlan& plan() const { return plan_; }
  gpu::BufferId buffer(const kernels::Slice& slice) const { return buffers_[slice.buffer]; }

  const std::vector<GpuPlan::BatchClass>& classes(Part part) const;
  // The smallest class of a part that takes `rows` rows.
  size_t class_for(Part part, uint32_t rows) const;
  // Appends the dispatches of one class.
  void record(Part part, size_t index, const kernels::StepShape& shape,
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
  base::Task<base::Result<void>> create_dispatches();
  gpu::Device& device_;
  GpuPlan plan_;
  std::vector<gpu::BufferId> buffers_;  // by Slice::buffer
  Classes dispatches_[3];               // by Part
};

}  // namespace puna::plan
