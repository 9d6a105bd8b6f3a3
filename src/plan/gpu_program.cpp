#include "plan/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"

namespace puna::plan {

using base::Result;
using base::Task;

namespace {

constexpr GpuProgram::Part kParts[] = {GpuProgram::Part::kBody, GpuProgram::Part::kHead,
                                       GpuProgram::Part::kSample};

// Starts the creation of all pipelines at once and waits for the last; ids come in the order of
// `descs`.
Task<Result<std::vector<gpu::PipelineId>>> create_pipelines(gpu::Device& device,
                                                            std::vector<gpu::PipelineDesc> descs) {
  struct State {
    std::vector<gpu::PipelineId> ids;
    std::optional<base::Error> error;
    size_t left;
  };
  auto state = std::make_shared<State>();
  state->ids.resize(descs.size());
  state->left = descs.size();
  if (descs.empty()) co_return std::move(state->ids);
  co_await base::await_callback<bool>([&](const std::function<void(bool)>& done) {
    for (size_t i = 0; i < descs.size(); ++i) {
      device.create_pipeline(std::move(descs[i]), [state, i, done](Result<gpu::PipelineId> id) {
        if (id) {
          state->ids[i] = *id;
        } else if (!state->error) {
          state->error = std::move(id.error());
        }
        if (--state->left == 0) done(true);
      });
    }
  });
  if (state->error) co_return std::unexpected(*std::move(state->error));
  co_return std::move(state->ids);
}

}  // namespace

const std::vector<GpuPlan::BatchClass>& GpuProgram::classes(Part part) const {
  return part == Part::kBody ? plan_.body : part == Part::kHead ? plan_.head : plan_.sample;
}

Task<Result<std::unique_ptr<GpuProgram>>> GpuProgram::create(gpu::Device& device, GpuPlan plan) {
  auto program = std::unique_ptr<GpuProgram>(new GpuProgram(device, std::move(plan)));
  PUNA_CO_TRY(program->create_buffers());
  PUNA_CO_TRY(co_await program->create_dispatches());
  co_return program;
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

Task<Result<void>> GpuProgram::create_dispatches() {
  // Calls with equal text share a pipeline.
  std::map<std::string, size_t> known;
  std::vector<gpu::PipelineDesc> descs;
  std::vector<size_t> pipeline_of_call;
  for (Part part : kParts) {
    for (const GpuPlan::BatchClass& c : classes(part)) {
      for (const kernels::KernelCall& call : c.calls) {
        PUNA_CO_TRY_CONTEXT(std::string text, kernels::expand(call, device_.info()),
                            fmt::format("While expanding the kernel of \"{}\"", call.label));
        const auto [at, is_new] = known.try_emplace(std::move(text), descs.size());
        if (is_new) {
          gpu::PipelineDesc desc{fmt::format("{} ({})", call.kernel, call.label), at->first, {}};
          for (const kernels::BoundSlice& b : call.bindings) desc.bindings.push_back(b.access);
          descs.push_back(std::move(desc));
        }
        pipeline_of_call.push_back(at->second);
      }
    }
  }
  PUNA_CO_TRY(const std::vector<gpu::PipelineId> pipelines,
              co_await create_pipelines(device_, std::move(descs)));

  size_t n = 0;
  for (Part part : kParts) {
    for (const GpuPlan::BatchClass& c : classes(part)) {
      std::vector<Dispatch>& list = dispatches_[static_cast<size_t>(part)].emplace_back();
      for (const kernels::KernelCall& call : c.calls) {
        std::vector<gpu::Binding> bindings;
        for (const kernels::BoundSlice& b : call.bindings) {
          bindings.push_back({buffers_[b.slice.buffer], b.slice.offset, b.slice.bytes});
        }
        const gpu::PipelineId pipeline = pipelines[pipeline_of_call[n++]];
        PUNA_CO_TRY_CONTEXT(const gpu::BindGroupId group,
                            device_.create_bind_group(pipeline, bindings),
                            fmt::format("While binding \"{}\"", call.label));
        list.push_back({pipeline, group, call.x, call.y, call.z});
      }
    }
  }
  co_return {};
}

size_t GpuProgram::class_for(Part part, uint32_t rows) const {
  const auto& list = classes(part);
  size_t i = 0;
  while (i + 1 < list.size() && list[i].max_rows < rows) ++i;
  PUNA_CHECK(rows <= list[i].max_rows);
  return i;
}

void GpuProgram::record(Part part, size_t index, const kernels::StepShape& shape,
                        gpu::CommandList& list) const {
  for (const Dispatch& d : dispatches_[static_cast<size_t>(part)][index]) {
    list.dispatch(d.pipeline, d.bind_group, kernels::workgroups(d.x, shape),
                  kernels::workgroups(d.y, shape), kernels::workgroups(d.z, shape));
  }
}

}  // namespace puna::plan
