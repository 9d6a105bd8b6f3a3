// wgpu-native 29. What it lacks and how that is met: no wgpuInstanceWaitAny (it aborts), so waits
// go through wgpuDevicePoll; no asynchronous pipeline creation; a submit after the device is lost
// aborts, so native_device.cpp looks before each one.
#include "base/log.h"
#include "gpu/native/library.h"

namespace puna::gpu::native {
namespace {

constexpr auto kSubgroup = static_cast<WGPUFeatureName>(WGPUNativeFeature_Subgroup);

constexpr Feature kNamed[] = {
    {WGPUFeatureName_ShaderF16, "shader-f16"},
    {kSubgroup, "subgroups"},
    {WGPUFeatureName_TimestampQuery, "timestamp-query"},
};

void log_message(WGPULogLevel, WGPUStringView message, void*) {
  base::log_debug("wgpu: {}", text(message));
}

class WgpuNative final : public Instance {
 public:
  WgpuNative(const Functions& wgpu, WGPUInstance instance) : Instance(wgpu), instance_(instance) {}

  Dialect dialect() const override { return Dialect::kNaga; }

  std::vector<WGPUAdapter> adapters() override {
    std::vector<WGPUAdapter> out(wgpu().InstanceEnumerateAdapters(instance_, nullptr, nullptr));
    if (!out.empty()) out.resize(wgpu().InstanceEnumerateAdapters(instance_, nullptr, out.data()));
    return out;
  }

  std::span<const Feature> features() const override { return kNamed; }
  // It has no way to enable its experimental cooperative matrix.
  MatrixShape matrix_shape(WGPUAdapter) const override { return {}; }

  std::span<const WGPUErrorFilter> error_filters() const override {
    static constexpr WGPUErrorFilter kFilters[] = {WGPUErrorFilter_Validation,
                                                   WGPUErrorFilter_OutOfMemory};
    return kFilters;
  }
  void settle(WGPUFuture) override {}  // callbacks have run when a call returns

  base::Result<WGPUDevice> request_device(WGPUAdapter adapter, WGPUDeviceDescriptor descriptor,
                                          const OpenOptions& /*options*/) override {
    RequestedDevice answer;
    // Calls back before it returns.
    wgpu().AdapterRequestDevice(adapter, &descriptor,
                                answer.callback(WGPUCallbackMode_AllowSpontaneous));
    return answer.result();
  }
  void close_device(WGPUDevice device) override { wgpu().DeviceRelease(device); }

  WGPUShaderModule create_shader_module(WGPUDevice device,
                                        const WGPUShaderModuleDescriptor& descriptor,
                                        bool trusted) override {
    if (trusted) {
      return wgpu().DeviceCreateShaderModuleTrusted(device, &descriptor,
                                                    WGPUShaderRuntimeChecks_None);
    }
    return wgpu().DeviceCreateShaderModule(device, &descriptor);
  }

  Ticket submit(WGPUDevice, WGPUQueue queue, WGPUCommandBuffer commands) override {
    return wgpu().QueueSubmitForIndex(queue, 1, &commands);
  }
  void wait_for(WGPUDevice device, Ticket ticket) override {
    wgpu().DevicePoll(device, /*wait=*/true, &ticket);
  }
  void run_callbacks(WGPUDevice device) override {
    wgpu().DevicePoll(device, /*wait=*/false, nullptr);
  }

 private:
  WGPUInstance instance_;
};

}  // namespace

std::unique_ptr<Instance> make_wgpu_native(const Functions& wgpu) {
  wgpu.SetLogCallback(log_message, nullptr);
  wgpu.SetLogLevel(WGPULogLevel_Warn);
  WGPUInstanceExtras extras = {};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends =
      WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12;
  extras.flags = WGPUInstanceFlag_Empty | WGPUInstanceFlag_DiscardHalLabels;
  WGPUInstanceDescriptor descriptor = {};
  descriptor.nextInChain = &extras.chain;
  WGPUInstance instance = wgpu.CreateInstance(&descriptor);
  return instance ? std::make_unique<WgpuNative>(wgpu, instance) : nullptr;
}

}  // namespace puna::gpu::native
