// A device with so many bytes of memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/testing/forwarding_device.h"

namespace puna::engine::test {

class SmallDevice : public ForwardingDevice {
 public:
  SmallDevice(std::unique_ptr<gpu::Device> device, uint64_t limit)
      : ForwardingDevice(std::move(device)), limit_(limit) {}

  base::Result<gpu::BufferId> create_buffer(uint64_t bytes, gpu::BufferUse use,
                                            std::string_view label) override {
    if (used_ + bytes > limit_)
      return base::fail(base::ErrorCode::kOutOfMemory, "There is no memory left.");
    PUNA_TRY(const gpu::BufferId id, ForwardingDevice::create_buffer(bytes, use, label));
    buffers_[id.value] = bytes;
    used_ += bytes;
    most_ = std::max(most_, used_);
    return id;
  }
  void destroy_buffer(gpu::BufferId buffer) override {
    used_ -= buffers_[buffer.value];
    buffers_.erase(buffer.value);
    ForwardingDevice::destroy_buffer(buffer);
  }

  // The most bytes that were used at once.
  uint64_t most() const { return most_; }

 private:
  uint64_t limit_;
  uint64_t used_ = 0, most_ = 0;
  std::map<uint32_t, uint64_t> buffers_;
};

}  // namespace puna::engine::test
