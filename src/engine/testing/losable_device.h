// A native device that is lost at a submit, as where a driver crashes.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/testing/forwarding_device.h"
#include "gpu/native/native_device.h"

namespace puna::engine::test {

class LosableDevice : public ForwardingDevice {
 public:
  // device: a native one. goes: asked at each submit, until it says so.
  LosableDevice(std::unique_ptr<gpu::Device> device, std::function<bool()> goes)
      : LosableDevice(static_cast<gpu::native::NativeDevice*>(device.release()), std::move(goes)) {}

  base::Result<gpu::SubmitId> submit(const gpu::CommandList& list) override {
    if (!lost() && goes_()) native_.lose_for_test();
    return ForwardingDevice::submit(list);
  }

 private:
  LosableDevice(gpu::native::NativeDevice* native, std::function<bool()> goes)
      : ForwardingDevice(std::unique_ptr<gpu::Device>(native)),
        native_(*native),
        goes_(std::move(goes)) {}

  gpu::native::NativeDevice& native_;
  std::function<bool()> goes_;
};

}  // namespace puna::engine::test
