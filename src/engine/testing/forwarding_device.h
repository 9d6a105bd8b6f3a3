// A device that passes everything on to another, for tests that watch or bend some of it.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/native/native.h"

namespace puna::engine::test {

class ForwardingDevice : public gpu::Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<gpu::Device> device) : device_(std::move(device)) {}

  const gpu::DeviceInfo& info() const override { return device_->info(); }
  base::Result<gpu::BufferId> create_buffer(uint64_t bytes, gpu::BufferUse use,
                                            std::string_view label) override {
    return device_->create_buffer(bytes, use, label);
  }
  base::Result<gpu::BufferId> share(const std::shared_ptr<gpu::HostMemory>& memory,
                                    std::string_view label) override {
    return device_->share(memory, label);
  }
  void destroy_buffer(gpu::BufferId buffer) override { device_->destroy_buffer(buffer); }
  void create_pipeline(gpu::PipelineDesc desc, gpu::PipelineDone done) override {
    device_->create_pipeline(std::move(desc), std::move(done));
  }
  base::Result<gpu::BindGroupId> create_bind_group(
      gpu::PipelineId pipeline, std::span<const gpu::Binding> bindings) override {
    return device_->create_bind_group(pipeline, bindings);
  }
  void destroy_bind_group(gpu::BindGroupId group) override { device_->destroy_bind_group(group); }
  base::Result<void> write_buffer(gpu::BufferId buffer, uint64_t offset,
                                  std::span<const std::byte> bytes) override {
    return device_->write_buffer(buffer, offset, bytes);
  }
  base::Result<gpu::SubmitId> submit(const gpu::CommandList& list) override {
    return device_->submit(list);
  }
  void read_back(gpu::BufferId buffer, uint64_t offset, std::span<std::byte> out,
                 gpu::ReadDone done) override {
    device_->read_back(buffer, offset, out, std::move(done));
  }
  base::Result<void> wait(gpu::SubmitId submit) override { return device_->wait(submit); }
  void poll() override { device_->poll(); }
  bool lost() const override { return device_->lost(); }

 private:
  std::unique_ptr<gpu::Device> device_;
};

// The first adapter. Null, said loudly, without one.
inline std::unique_ptr<gpu::Device> open_gpu(bool baseline = false) {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return nullptr;
  }
  auto device = gpu::native::open(0, {.baseline = baseline});
  REQUIRE_MESSAGE(device.has_value(), device.error().text());
  return *std::move(device);
}

// Two that run beside each other and share memory of the host: two GPUs, or a software adapter
// twice, as work of one process on one GPU is not run beside each other. Empty, said loudly,
// without.
inline std::vector<std::unique_ptr<gpu::Device>> open_two_sharing() {
  std::vector<std::unique_ptr<gpu::Device>> out;
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty() || !adapters->front().info.shares_memory) {
    MESSAGE("SKIPPED: there is no native GPU adapter that shares memory of the host");
    return out;
  }
  const gpu::AdapterType type = adapters->front().info.type;
  const bool two = adapters->size() > 1 && adapters->at(1).info.type == type;
  if (!two && type != gpu::AdapterType::kSoftware) {
    MESSAGE("SKIPPED: there are no two GPUs");
    return out;
  }
  for (const size_t adapter : {size_t{0}, size_t{two}}) {
    auto device = gpu::native::open(adapter);
    REQUIRE_MESSAGE(device.has_value(), device.error().text());
    out.push_back(*std::move(device));
  }
  return out;
}

}  // namespace puna::engine::test
