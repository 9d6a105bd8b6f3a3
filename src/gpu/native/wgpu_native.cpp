// wgpu-native 29. What it lacks and how that is met: no wgpuInstanceWaitAny (it aborts), so waits
// go through wgpuDevicePoll; no asynchronous pipeline creation; a submit after the device is lost
// aborts, so native_device.cpp looks before each one.
#include <webgpu/wgpu.h>

#include <cstdlib>

#include "base/log.h"
#include "gpu/native/library.h"

namespace puna::gpu::native::library {
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

WGPUInstance make_instance() {
#ifdef __linux__
  // Mesa's device-select layer looks for a Wayland display and complains on stderr where a session
  // has no XDG_RUNTIME_DIR (ssh, containers). It only reorders devices, which adapters.cpp does
  // itself.
  if (std::getenv("XDG_RUNTIME_DIR") == nullptr) setenv("NODEVICE_SELECT", "1", /*overwrite=*/0);
#endif
  wgpuSetLogCallback(log_message, nullptr);
  wgpuSetLogLevel(WGPULogLevel_Warn);
  WGPUInstanceExtras extras = {};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends =
      WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12;
  extras.flags = WGPUInstanceFlag_Empty | WGPUInstanceFlag_DiscardHalLabels;
  WGPUInstanceDescriptor descriptor = {};
  descriptor.nextInChain = &extras.chain;
  return wgpuCreateInstance(&descriptor);
}

}  // namespace

Dialect dialect() { return Dialect::kNaga; }

WGPUInstance instance() {
  static WGPUInstance instance = make_instance();
  return instance;
}

std::vector<WGPUAdapter> enumerate_adapters() {
  std::vector<WGPUAdapter> adapters(wgpuInstanceEnumerateAdapters(instance(), nullptr, nullptr));
  if (!adapters.empty())
    adapters.resize(wgpuInstanceEnumerateAdapters(instance(), nullptr, adapters.data()));
  return adapters;
}

std::span<const WGPUErrorFilter> error_filters() {
  static constexpr WGPUErrorFilter kFilters[] = {WGPUErrorFilter_Validation,
                                                 WGPUErrorFilter_OutOfMemory};
  return kFilters;
}

void settle(WGPUFuture) {}  // callbacks have run when a call returns

std::span<const Feature> features() { return kNamed; }

base::Result<WGPUDevice> request_device(WGPUAdapter adapter, WGPUDeviceDescriptor descriptor,
                                        const OpenOptions& /*options*/) {
  struct Answer {
    WGPUDevice device = nullptr;
    std::string message = "the library did not answer";
  } answer;
  WGPURequestDeviceCallbackInfo callback = {};
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message,
                         void* data,
                         void*) { *static_cast<Answer*>(data) = {device, text(message)}; };
  wgpuAdapterRequestDevice(adapter, &descriptor, callback);  // calls back before it returns
  if (answer.device == nullptr)
    return base::fail(base::ErrorCode::kDevice, "The GPU cannot be opened: " + answer.message);
  return answer.device;
}

void close_device(WGPUDevice device) { wgpuDeviceRelease(device); }

// It has no way to enable its experimental cooperative matrix.
MatrixShape matrix_shape(WGPUAdapter) { return {}; }

WGPUShaderModule create_shader_module(WGPUDevice device,
                                      const WGPUShaderModuleDescriptor& descriptor, bool trusted) {
  if (trusted)
    return wgpuDeviceCreateShaderModuleTrusted(device, &descriptor, WGPUShaderRuntimeChecks_None);
  return wgpuDeviceCreateShaderModule(device, &descriptor);
}

Ticket submit(WGPUDevice, WGPUQueue queue, WGPUCommandBuffer commands) {
  return wgpuQueueSubmitForIndex(queue, 1, &commands);
}

void wait_for(WGPUDevice device, Ticket ticket) { wgpuDevicePoll(device, /*wait=*/true, &ticket); }

void run_callbacks(WGPUDevice device) { wgpuDevicePoll(device, /*wait=*/false, nullptr); }

}  // namespace puna::gpu::native::library
