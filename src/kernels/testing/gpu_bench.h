// What GPU benches share: buffers with a plausible pattern, calls turned into a command list, and
// the time of a submit. Errors end the program with a message: a bench has nobody to hand them to.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/native/native.h"
#include "gpu/timing.h"
#include "kernels/common/call.h"

namespace puna::kernels::bench {

template <class T>
T must(base::Result<T> result) {
  if (!result) {
    fmt::print(stderr, "error: {}\n", result.error().text());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class GpuBench {
 public:
  explicit GpuBench(size_t adapter) : device_(must(gpu::native::open(adapter))) {}
  ~GpuBench() {
    for (gpu::BufferId buffer : buffers_) device_->destroy_buffer(buffer);
  }

  const gpu::DeviceInfo& info() const { return device_->info(); }

  // Filled with a fixed pattern under a mask. The first leaves words whose halves are f16 numbers
  // of at most about 1 and whose f32 reading is small too, the second f16 numbers below 0.125.
  static constexpr uint32_t kActivations = 0xbbffbbffu, kCodesAndScales = 0x2fff2fffu;
  Slice buffer(uint64_t bytes, uint32_t mask = kActivations) {
    const gpu::BufferId id = must(device_->create_buffer(bytes, gpu::BufferUse::kStorage, "bench"));
    std::vector<uint32_t> words(std::min<uint64_t>(bytes, 4u << 20) / 4);
    uint32_t seed = 1;
    for (uint32_t& word : words) word = (seed = seed * 1664525u + 1013904223u) & mask;
    for (uint64_t at = 0; at < bytes; at += words.size() * 4) {
      must(device_->write_buffer(
          id, at,
          std::as_bytes(std::span(words)).first(std::min<uint64_t>(words.size() * 4, bytes - at))));
    }
    buffers_.push_back(id);
    return {static_cast<uint32_t>(buffers_.size() - 1), 0, bytes};
  }
  Slice upload(const std::vector<uint32_t>& words) {
    const Slice slice = buffer(words.size() * 4);
    must(device_->write_buffer(buffers_[slice.buffer], 0, std::as_bytes(std::span(words))));
    return slice;
  }
  // Frees the buffers made since there were `n` of them.
  size_t n_buffers() const { return buffers_.size(); }
  void drop_buffers(size_t n) {
    for (; buffers_.size() > n; buffers_.pop_back()) device_->destroy_buffer(buffers_.back());
  }

  // Appends the dispatches of calls to a list. False, with the compiler's message printed, when one
  // does not compile.
  [[nodiscard]] bool record(const std::vector<KernelCall>& calls, const StepShape& shape,
                            gpu::CommandList& list) {
    for (const KernelCall& call : calls) {
      gpu::PipelineDesc desc{
          .label = call.label, .wgsl = must(expand(call, info())), .bindings = {}};
      std::vector<gpu::Binding> bindings;
      for (const BoundSlice& bound : call.bindings) {
        desc.bindings.push_back(bound.access);
        bindings.push_back({buffers_[bound.slice.buffer], bound.slice.offset, bound.slice.bytes});
      }
      std::optional<base::Result<gpu::PipelineId>> pipeline;
      device_->create_pipeline(
          std::move(desc), [&](base::Result<gpu::PipelineId> made) { pipeline = std::move(made); });
      while (!pipeline) device_->poll();
      if (!*pipeline) {
        fmt::print(stderr, "{}\n", pipeline->error().text());
        return false;
      }
      groups_.push_back(must(device_->create_bind_group(**pipeline, bindings)));
      list.dispatch(**pipeline, groups_.back(), workgroups(call.x, shape),
                    workgroups(call.y, shape), workgroups(call.z, shape));
    }
    return true;
  }
  void drop_groups() {
    for (gpu::BindGroupId group : groups_) device_->destroy_bind_group(group);
    groups_.clear();
  }

  double pass_us(const gpu::CommandList& list, double enough_ms, int tries) {
    return must(gpu::pass_us(*device_, list, enough_ms, tries));
  }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::vector<gpu::BufferId> buffers_;
  std::vector<gpu::BindGroupId> groups_;
};

}  // namespace puna::kernels::bench
