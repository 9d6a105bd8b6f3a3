// Dawn, for builds with -DPUNA_WEBGPU=dawn. Everything asynchronous is a future that
// wgpuInstanceWaitAny waits for. The C interface cannot list adapters, so the fast, the frugal and
// the software one are asked for: of two equal cards only one is seen.
#include <array>

#include "base/log.h"
#include "gpu/native/library.h"
#include "gpu/native/pipeline_files.h"

namespace puna::gpu::native::library {
namespace {

constexpr auto kSubgroupMatrix = WGPUFeatureName_ChromiumExperimentalSubgroupMatrix;

constexpr Feature kNamed[] = {
    {WGPUFeatureName_ShaderF16, "shader-f16"},
    {WGPUFeatureName_Subgroups, "subgroups"},
    {kSubgroupMatrix, "subgroup-matrix"},
    {WGPUFeatureName_TimestampQuery, "timestamp-query"},
};

// Experimental features must be allowed on the instance, the adapter and the device; f16 is off on
// NVIDIA by default.
constexpr const char* kInstanceToggles[] = {"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"};
// For the device: no zeroing of workgroup memory (kernels do not assume it) and plain integer
// division (never by zero).
constexpr const char* kDeviceToggles[] = {
    "allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "disable_workgroup_init",
    "disable_polyfills_on_integer_div_and_mod", "disable_robustness"};

WGPUDawnTogglesDescriptor toggles(std::span<const char* const> names) {
  WGPUDawnTogglesDescriptor out = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  out.enabledToggleCount = names.size();
  out.enabledToggles = names.data();
  return out;
}

WGPUInstance make_instance() {
  WGPUDawnTogglesDescriptor allowed = toggles(kInstanceToggles);
  constexpr WGPUInstanceFeatureName kTimedWait = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.nextInChain = &allowed.chain;
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &kTimedWait;
  return wgpuCreateInstance(&descriptor);
}

void wait_any(WGPUFuture future) {
  WGPUFutureWaitInfo info = {};
  info.future = future;
  wgpuInstanceWaitAny(instance(), 1, &info, UINT64_MAX);
}

WGPUAdapter request_adapter(WGPUPowerPreference preference, bool fallback) {
  WGPUDawnTogglesDescriptor allowed = toggles(kInstanceToggles);
  WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
  options.nextInChain = &allowed.chain;
  options.powerPreference = preference;
  options.forceFallbackAdapter = fallback;
  WGPUAdapter adapter = nullptr;
  WGPURequestAdapterCallbackInfo callback = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.userdata1 = &adapter;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter found, WGPUStringView, void* data,
                         void*) { *static_cast<WGPUAdapter*>(data) = found; };
  wait_any(wgpuInstanceRequestAdapter(instance(), &options, callback));
  return adapter;
}

bool same_adapter(WGPUAdapter a, WGPUAdapter b) {
  WGPUAdapterInfo x = WGPU_ADAPTER_INFO_INIT, y = WGPU_ADAPTER_INFO_INIT;
  wgpuAdapterGetInfo(a, &x);
  wgpuAdapterGetInfo(b, &y);
  const bool same = x.vendorID == y.vendorID && x.deviceID == y.deviceID &&
                    x.backendType == y.backendType && x.adapterType == y.adapterType &&
                    text(x.device) == text(y.device);
  wgpuAdapterInfoFreeMembers(x);
  wgpuAdapterInfoFreeMembers(y);
  return same;
}

bool is_computing_backend(WGPUAdapter adapter) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  wgpuAdapterGetInfo(adapter, &info);
  const WGPUBackendType backend = info.backendType;
  wgpuAdapterInfoFreeMembers(info);
  return backend == WGPUBackendType_Vulkan || backend == WGPUBackendType_Metal ||
         backend == WGPUBackendType_D3D12;
}

}  // namespace

Dialect dialect() { return Dialect::kTint; }

WGPUInstance instance() {
  static WGPUInstance instance = make_instance();
  return instance;
}

std::vector<WGPUAdapter> enumerate_adapters() {
  std::vector<WGPUAdapter> adapters;
  const auto add = [&](WGPUAdapter adapter) {
    if (adapter == nullptr) return;
    bool keep = is_computing_backend(adapter);
    for (WGPUAdapter other : adapters) keep = keep && !same_adapter(adapter, other);
    if (keep) {
      adapters.push_back(adapter);
    } else {
      wgpuAdapterRelease(adapter);
    }
  };
  add(request_adapter(WGPUPowerPreference_HighPerformance, /*fallback=*/false));
  add(request_adapter(WGPUPowerPreference_LowPower, /*fallback=*/false));
  add(request_adapter(WGPUPowerPreference_Undefined, /*fallback=*/true));
  return adapters;
}

std::span<const WGPUErrorFilter> error_filters() {
  static constexpr WGPUErrorFilter kFilters[] = {
      WGPUErrorFilter_Validation, WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Internal};
  return kFilters;
}

void settle(WGPUFuture future) { wait_any(future); }

std::span<const Feature> features() { return kNamed; }

MatrixShape matrix_shape(WGPUAdapter adapter) {
  WGPUAdapterPropertiesSubgroupMatrixConfigs configs =
      WGPU_ADAPTER_PROPERTIES_SUBGROUP_MATRIX_CONFIGS_INIT;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  info.nextInChain = &configs.chain;
  wgpuAdapterGetInfo(adapter, &info);
  MatrixShape best;
  for (const WGPUSubgroupMatrixConfig& c : std::span(configs.configs, configs.configCount)) {
    if (c.componentType != WGPUSubgroupMatrixComponentType_F16 ||
        c.resultComponentType != WGPUSubgroupMatrixComponentType_F32) {
      continue;
    }
    if (c.M * c.N * c.K > best.m * best.n * best.k) best = {c.M, c.N, c.K};
  }
  wgpuAdapterInfoFreeMembers(info);
  wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers(configs);
  return best;
}

base::Result<WGPUDevice> request_device(WGPUAdapter adapter, WGPUDeviceDescriptor descriptor,
                                        const OpenOptions& options) {
  // disable_robustness is the last toggle: left out where shaders are not trusted.
  constexpr size_t n_toggles = std::size(kDeviceToggles);
  WGPUDawnTogglesDescriptor allowed =
      toggles(std::span(kDeviceToggles).first(n_toggles - (options.trusted_shaders ? 0 : 1)));
  descriptor.nextInChain = &allowed.chain;
  WGPUDawnCacheDeviceDescriptor cache = WGPU_DAWN_CACHE_DEVICE_DESCRIPTOR_INIT;
  if (PipelineFiles* files = PipelineFiles::of_process(options.cache_dir)) {
    cache.dawnLoadCacheDataCallbackInfo.userdata1 = files;
    cache.dawnLoadCacheDataCallbackInfo.callback =
        [](size_t key_size, const uint8_t* key, size_t size, uint8_t* value, void* data, void*) {
          return static_cast<PipelineFiles*>(data)->load({key, key_size}, {value, size});
        };
    cache.dawnStoreCacheDataCallbackInfo.userdata1 = files;
    cache.dawnStoreCacheDataCallbackInfo.callback =
        [](size_t key_size, const uint8_t* key, size_t size, const uint8_t* value, void* data,
           void*) { static_cast<PipelineFiles*>(data)->store({key, key_size}, {value, size}); };
    allowed.chain.next = &cache.chain;
  }
  struct Answer {
    WGPUDevice device = nullptr;
    std::string message = "the library did not answer";
  } answer;
  WGPURequestDeviceCallbackInfo callback = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message,
                         void* data,
                         void*) { *static_cast<Answer*>(data) = {device, text(message)}; };
  wait_any(wgpuAdapterRequestDevice(adapter, &descriptor, callback));
  if (answer.device == nullptr)
    return base::fail(base::ErrorCode::kDevice, "The GPU cannot be opened: " + answer.message);
  return answer.device;
}

void close_device(WGPUDevice device) {
  const WGPUFuture lost = wgpuDeviceGetLostFuture(device);
  wgpuDeviceDestroy(device);
  wait_any(lost);
  wgpuDeviceRelease(device);
}

WGPUShaderModule create_shader_module(WGPUDevice device,
                                      const WGPUShaderModuleDescriptor& descriptor,
                                      bool /*trusted*/) {
  return wgpuDeviceCreateShaderModule(device, &descriptor);
}

Ticket submit(WGPUDevice, WGPUQueue queue, WGPUCommandBuffer commands) {
  wgpuQueueSubmit(queue, 1, &commands);
  WGPUQueueWorkDoneCallbackInfo callback = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*) {};
  return wgpuQueueOnSubmittedWorkDone(queue, callback).id;
}

void wait_for(WGPUDevice device, Ticket ticket) {
  wait_any(WGPUFuture{ticket});
  run_callbacks(device);
}

void run_callbacks(WGPUDevice) { wgpuInstanceProcessEvents(instance()); }

}  // namespace puna::gpu::native::library
