#include "plan/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace puna::plan {

using base::Result;
using base::Task;

namespace {

constexpr GpuProgram::Part kParts[] = {GpuProgram::Part::kBody, GpuProgram::Part::kHead,
                                       GpuProgram::Part::kSample};

}  // namespace

const std::vector<GpuPlan::BatchClass>& GpuProgram::classes(Part part) const {
  return part == Part::kBody ? plan_.body : part == Part::kHead ? plan_.head : plan_.sample;
}

Result<std::unique_ptr<GpuProgram>> GpuProgram::create(gpu::Device& device, GpuPlan plan) {
  auto program = std::unique_ptr<GpuProgram>(new GpuProgram(device, std::move(plan)));
  PUNA_TRY(program->create_buffers());
  return program;
}

GpuProgram::~GpuProgram() {
  for (const Classes& part : dispatches_) {
    for (const auto& list : part) {
      for (const Dispatch& d : list) device_.destroy_bind_group(d.bind_group);
    }
  }
  for (gpu::BufferId buffer : buffers_) device_.destroy_buffer(buffer);
}

Result<void> GpuProgram::create_buffers() {
  for (const GpuPlan::Buffer& buffer : plan_.buffers) {
    PUNA_TRY_CONTEXT(const gpu::BufferId id,
                     device_.create_buffer(buffer.bytes, gpu::BufferUse::kStorage, buffer.label),
                     fmt::format("While allocating \"{}\"", buffer.label));
    buffers_.push_back(id);
  }
  return {};
}

Result<void> GpuProgram::compile() {
  pipelines_.emplace(device_);
  for (Part part : kParts) {
    for (const GpuPlan::BatchClass& c : classes(part)) {
      for (const kernels::KernelCall& call : c.calls) {
        PUNA_TRY(const size_t pipeline, pipelines_->add(call));
        pipeline_of_call_.push_back(pipeline);
      }
    }
  }
  return {};
}

Task<Result<void>> GpuProgram::compiled() {
  PUNA_CO_TRY(const std::vector<gpu::PipelineId> pipelines, co_await pipelines_->all());
  size_t n = 0;
  for (Part part : kParts) {
    for (const GpuPlan::BatchClass& c : classes(part)) {
      std::vector<Dispatch>& list = dispatches_[static_cast<size_t>(part)].emplace_back();
      for (const kernels::KernelCall& call : c.calls) {
        std::vector<gpu::Binding> bindings;
        for (const kernels::BoundSlice& b : call.bindings) {
          bindings.push_back({buffers_[b.slice.buffer], b.slice.offset, b.slice.bytes});
        }
        const gpu::PipelineId pipeline = pipelines[pipeline_of_call_[n++]];
        PUNA_CO_TRY_CONTEXT(const gpu::BindGroupId group,
                            device_.create_bind_group(pipeline, bindings),
                            fmt::format("While binding \"{}\"", call.label));
        list.push_back({pipeline, group, call.x, call.y, call.z});
      }
    }
  }
  pipelines_.reset();
  co_return {};
}

size_t GpuProgram::class_for(Part part, const kernels::StepShape& shape) const {
  if (part != Part::kBody) return plan::class_for(classes(part), shape.n_outputs, false);
  return plan::class_for(classes(part), shape.n_tokens, shape.n_outputs < shape.n_tokens);
}

std::span<const GpuPlan::HostCall> GpuProgram::host_calls(Part part,
                                                          const kernels::StepShape& shape) const {
  return classes(part)[class_for(part, shape)].host_calls;
}

void GpuProgram::record(Part part, const kernels::StepShape& shape, gpu::CommandList& list) const {
  record(part, shape, 0, SIZE_MAX, list);
}

size_t GpuProgram::record(Part part, const kernels::StepShape& shape, size_t first, size_t n,
                          gpu::CommandList& list) const {
  const std::vector<Dispatch>& all = dispatches_[static_cast<size_t>(part)][class_for(part, shape)];
  const auto from = std::span(all).subspan(std::min(first, all.size()));
  const auto some = from.first(std::min(n, from.size()));
  for (const Dispatch& d : some) {
    list.dispatch(d.pipeline, d.bind_group, kernels::workgroups(d.x, shape),
                  kernels::workgroups(d.y, shape), kernels::workgroups(d.z, shape));
  }
  return some.size();
}

}  // namespace puna::plan
