#include "engine/gpu_link.h"

#include <utility>

#include "plan/pipelines.h"

namespace puna::engine {

using base::Result;
using base::Task;

Task<Result<std::unique_ptr<GpuLink>>> GpuLink::create(gpu::Device& device, LinkEnds ends) {
  std::unique_ptr<GpuLink> out(new GpuLink(device));
  PUNA_CO_TRY(out->buffers_[kFrom], device.share(ends.from, "link from"));
  PUNA_CO_TRY(out->buffers_[kTo], device.share(ends.to, "link to"));
  PUNA_CO_TRY(out->buffers_[kState],
              device.create_buffer(kernels::kLinkStateWords * sizeof(uint32_t),
                                   gpu::BufferUse::kStorage, "link"));
  PUNA_CO_TRY(co_await out->create_kernels());
  co_return out;
}

GpuLink::~GpuLink() {
  for (const gpu::BufferId buffer : buffers_) {
    if (buffer.value != 0) device_.destroy_buffer(buffer);
  }
}

Task<Result<void>> GpuLink::create_kernels() {
  const kernels::Slice state{kState, 0, kernels::kLinkStateWords * sizeof(uint32_t)};
  std::vector<kernels::KernelCall> calls;
  kernels::link_wait(device_.info(), {"link", {kFrom, 0, kernels::kLinkDataOffset}, state}, calls);
  kernels::link_stamp({"link", {kTo, 0, kernels::kLinkDataOffset}, state}, calls);
  plan::Pipelines pipelines(device_);
  std::vector<size_t> index;
  for (const kernels::KernelCall& call : calls) {
    PUNA_CO_TRY(index.emplace_back(), pipelines.add(call));
  }
  PUNA_CO_TRY(const std::vector<gpu::PipelineId> ids, co_await pipelines.all());
  for (size_t i = 0; i < calls.size(); ++i) {
    Dispatch& dispatch = i == 0 ? wait_ : stamp_;
    std::vector<gpu::Binding> bindings;
    for (const kernels::BoundSlice& bound : calls[i].bindings) {
      bindings.push_back({buffers_[bound.slice.buffer], bound.slice.offset, bound.slice.bytes});
    }
    dispatch.pipeline = ids[index[i]];
    PUNA_CO_TRY(dispatch.group, device_.create_bind_group(dispatch.pipeline, bindings));
    dispatch.n_workgroups = kernels::workgroups(calls[i].x, {});
  }
  co_return {};
}

Result<void> GpuLink::begin_step(Takes takes) {
  const uint32_t before = n_steps_;
  n_steps_ = (n_steps_ + 1) % kernels::kLinkNumbers;
  std::array<uint32_t, kernels::kLinkStateWords> state{};
  state[kernels::kLinkGiven] = n_steps_;
  state[kernels::kLinkTaken] = takes == Takes::kOfThis ? n_steps_ : before;
  return device_.write_buffer(buffers_[kState], 0, std::as_bytes(std::span(state)));
}

void GpuLink::take(std::span<const GpuRange> to, gpu::CommandList& list) const {
  list.dispatch(wait_.pipeline, wait_.group, wait_.n_workgroups);
  scatter(buffers_[kFrom], kernels::kLinkDataOffset, to, list);
}

void GpuLink::give(std::span<const GpuRange> from, gpu::CommandList& list) const {
  gather(from, buffers_[kTo], kernels::kLinkDataOffset, list);
  list.dispatch(stamp_.pipeline, stamp_.group, stamp_.n_workgroups);
}

GpuRange GpuLink::failed() const {
  return {buffers_[kState], kernels::kLinkFailed * sizeof(uint32_t), sizeof(uint32_t)};
}

}  // namespace puna::engine
