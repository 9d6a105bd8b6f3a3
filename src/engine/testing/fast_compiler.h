// An adapter of software that says that it compiles fast, as GPUs do.
#pragma once

#include <memory>
#include <utility>

#include "engine/testing/forwarding_device.h"

namespace puna::engine::test {

class FastCompiler : public ForwardingDevice {
 public:
  explicit FastCompiler(std::unique_ptr<gpu::Device> device)
      : ForwardingDevice(std::move(device)), info_(ForwardingDevice::info()) {
    info_.slow_compiler = false;
  }
  const gpu::DeviceInfo& info() const override { return info_; }

 private:
  gpu::DeviceInfo info_;
};

}  // namespace puna::engine::test
