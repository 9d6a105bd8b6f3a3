// Dawn. Everything asynchronous is a future that wgpuInstanceWaitAny waits for, one at a time.
// Needs no header of its own: what it has beside webgpu.h is declared here, by the names and values
// of its dawn.json.
#include "gpu/native/library.h"
#include "gpu/native/pipeline_files.h"

namespace puna::gpu::native {
namespace {

constexpr auto kSubgroupMatrix = static_cast<WGPUFeatureName>(0x00050034);
constexpr auto kHostMappedPointer = static_cast<WGPUFeatureName>(0x0005000F);

// Chained to descriptors: switches by name.
struct DawnToggles {
  WGPUChainedStruct chain = {nullptr, static_cast<WGPUSType>(0x0005000A)};
  size_t n_enabled = 0;
  const char* const* enabled = nullptr;
  size_t n_disabled = 0;
  const char* const* disabled = nullptr;
};

// Chained to a device's descriptor: where compiled pipelines are kept.
struct DawnCache {
  WGPUChainedStruct chain = {nullptr, static_cast<WGPUSType>(0x00050007)};
  WGPUStringView isolation_key = WGPU_STRING_VIEW_INIT;
  struct {
    WGPUChainedStruct* next = nullptr;
    size_t (*callback)(size_t key_size, const uint8_t* key, size_t size, uint8_t* value, void*,
                       void*) = nullptr;
    void* userdata1 = nullptr;
    void* userdata2 = nullptr;
  } load;
  struct {
    WGPUChainedStruct* next = nullptr;
    void (*callback)(size_t key_size, const uint8_t* key, size_t size, const uint8_t* value, void*,
                     void*) = nullptr;
    void* userdata1 = nullptr;
    void* userdata2 = nullptr;
  } store;
};

// Chained to a buffer's descriptor: the memory of the host that it lies in, and what is called when
// no work needs it any more.
struct DawnHostMemory {
  WGPUChainedStruct chain = {nullptr, static_cast<WGPUSType>(0x00050012)};
  void* pointer = nullptr;
  void (*done)(void*) = nullptr;
  void* userdata = nullptr;
};

// Chained to an adapter's info, which fills it in: the shapes of matrix units.
struct DawnMatrixConfigs {
  enum Component : uint32_t { kF32 = 1, kF16 = 2 };
  struct Config {
    Component component, result;
    uint32_t m, n, k;
  };
  WGPUChainedStruct chain = {nullptr, static_cast<WGPUSType>(0x0005003B)};
  size_t n_configs = 0;
  const Config* configs = nullptr;
};
using FreeMatrixConfigs = void (*)(DawnMatrixConfigs);

// The C interface cannot list adapters: of two equal cards it gives one. This is, by its name for
// linkers, dawn::native::Instance::EnumerateAdapters(const WGPURequestAdapterOptions*) const. An
// Instance is a pointer to what C calls WGPUInstance, and an Adapter a counted reference to what C
// calls WGPUAdapter, so that these come to us with the vector. Not there on Windows.
using Enumerate = std::vector<WGPUAdapter> (*)(const WGPUInstance*,
                                               const WGPURequestAdapterOptions*);
constexpr const char* kEnumerate =
    "_ZNK4dawn6native8Instance17EnumerateAdaptersEPK25WGPURequestAdapterOptions";

constexpr Feature kNamed[] = {
    {WGPUFeatureName_ShaderF16, "shader-f16"},
    {WGPUFeatureName_Subgroups, "subgroups"},
    {kSubgroupMatrix, "subgroup-matrix"},
    {kHostMappedPointer, "host-mapped-pointer"},
    {WGPUFeatureName_TimestampQuery, "timestamp-query"},
};

// Experimental features must be allowed on the instance, the adapter and the device; f16 is off on
// NVIDIA by default.
constexpr const char* kInstanceToggles[] = {"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"};
// For the device: no zeroing of workgroup memory (kernels do not assume it) and plain integer
// division (never by zero). skip_validation is not among them: it crashes.
constexpr const char* kDeviceToggles[] = {
    "allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "disable_workgroup_init",
    "disable_polyfills_on_integer_div_and_mod", "disable_robustness"};

DawnToggles toggles(std::span<const char* const> names) {
  return {.n_enabled = names.size(), .enabled = names.data()};
}

MatrixShape better(const MatrixShape& best, const DawnMatrixConfigs::Config& config) {
  const MatrixShape shape{config.m, config.n, config.k,
                          config.component == DawnMatrixConfigs::kF32};
  if (config.component != DawnMatrixConfigs::kF16 && !shape.f32) return best;
  if (best.m == 0 || best.f32 != shape.f32) return best.m == 0 || best.f32 ? shape : best;
  return shape.m * shape.n * shape.k > best.m * best.n * best.k ? shape : best;
}

class Dawn final : public Instance {
 public:
  Dawn(const SharedLibrary& file, const Functions& wgpu, WGPUInstance instance)
      : Instance(wgpu),
        instance_(instance),
        enumerate_(file.find<Enumerate>(kEnumerate)),
        free_configs_(
            file.find<FreeMatrixConfigs>("wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers")) {
  }

  Dialect dialect() const override { return Dialect::kTint; }

  std::vector<WGPUAdapter> adapters() override {
    std::vector<WGPUAdapter> out;
    DawnToggles allowed = toggles(kInstanceToggles);
    WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    options.nextInChain = &allowed.chain;
    for (const WGPUBackendType backend :
         {WGPUBackendType_Vulkan, WGPUBackendType_Metal, WGPUBackendType_D3D12}) {
      options.backendType = backend;
      const std::vector<WGPUAdapter> found =
          enumerate_ ? enumerate_(&instance_, &options) : request_each(options);
      out.insert(out.end(), found.begin(), found.end());
    }
    return out;
  }

  std::span<const Feature> features() const override { return kNamed; }

  MatrixShape matrix_shape(WGPUAdapter adapter) const override {
    MatrixShape best;
    if (free_configs_ == nullptr) return best;
    DawnMatrixConfigs configs;
    WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
    info.nextInChain = &configs.chain;
    wgpu().AdapterGetInfo(adapter, &info);
    for (const DawnMatrixConfigs::Config& c : std::span(configs.configs, configs.n_configs)) {
      if (c.result == DawnMatrixConfigs::kF32) best = better(best, c);
    }
    wgpu().AdapterInfoFreeMembers(info);
    free_configs_(configs);
    return best;
  }

  std::span<const WGPUErrorFilter> error_filters() const override {
    static constexpr WGPUErrorFilter kFilters[] = {
        WGPUErrorFilter_Validation, WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Internal};
    return kFilters;
  }
  void settle(WGPUFuture future) override {
    WGPUFutureWaitInfo info = {};
    info.future = future;
    wgpu().InstanceWaitAny(instance_, 1, &info, UINT64_MAX);
  }

  base::Result<WGPUDevice> request_device(WGPUAdapter adapter, WGPUDeviceDescriptor descriptor,
                                          const OpenOptions& options) override {
    std::span<const char* const> names = kDeviceToggles;
    // disable_robustness is the last: left out where shaders are not trusted.
    if (!options.trusted_shaders) names = names.first(names.size() - 1);
    DawnToggles allowed = toggles(names);
    descriptor.nextInChain = &allowed.chain;
    DawnCache cache;
    if (PipelineFiles* files = PipelineFiles::of_process(options.cache_dir)) {
      cache.load.userdata1 = cache.store.userdata1 = files;
      cache.load.callback = [](size_t key_size, const uint8_t* key, size_t size, uint8_t* value,
                               void* data, void*) {
        return static_cast<PipelineFiles*>(data)->load({key, key_size}, {value, size});
      };
      cache.store.callback = [](size_t key_size, const uint8_t* key, size_t size,
                                const uint8_t* value, void* data, void*) {
        static_cast<PipelineFiles*>(data)->store({key, key_size}, {value, size});
      };
      allowed.chain.next = &cache.chain;
    }
    RequestedDevice answer;
    settle(wgpu().AdapterRequestDevice(adapter, &descriptor,
                                       answer.callback(WGPUCallbackMode_WaitAnyOnly)));
    return answer.result();
  }
  void close_device(WGPUDevice device) override {
    const WGPUFuture lost = wgpu().DeviceGetLostFuture(device);
    wgpu().DeviceDestroy(device);
    settle(lost);
    wgpu().DeviceRelease(device);
  }

  WGPUShaderModule create_shader_module(WGPUDevice device,
                                        const WGPUShaderModuleDescriptor& descriptor,
                                        bool /*trusted*/) override {
    return wgpu().DeviceCreateShaderModule(device, &descriptor);
  }

  Ticket compile_beside(WGPUDevice device, const WGPUComputePipelineDescriptor& descriptor,
                        const PipelineCompiled& done) override {
    WGPUCreateComputePipelineAsyncCallbackInfo callback =
        WGPU_CREATE_COMPUTE_PIPELINE_ASYNC_CALLBACK_INFO_INIT;
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.userdata1 = new PipelineCompiled(done);
    callback.callback = [](WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline,
                           WGPUStringView message, void* data, void*) {
      const std::unique_ptr<PipelineCompiled> compiled(static_cast<PipelineCompiled*>(data));
      if (status == WGPUCreatePipelineAsyncStatus_Success) {
        (*compiled)(pipeline, {});
      } else {
        (*compiled)(nullptr, text(message));
      }
    };
    return wgpu().DeviceCreateComputePipelineAsync(device, &descriptor, callback).id;
  }

  WGPUBuffer create_shared_buffer(WGPUDevice device, WGPUBufferDescriptor descriptor,
                                  const std::shared_ptr<HostMemory>& memory) override {
    DawnHostMemory chained;
    chained.pointer = memory->bytes().data();
    chained.userdata = new std::shared_ptr<HostMemory>(memory);
    chained.done = [](void* data) { delete static_cast<std::shared_ptr<HostMemory>*>(data); };
    descriptor.nextInChain = &chained.chain;
    return wgpu().DeviceCreateBuffer(device, &descriptor);
  }

  // What does not fit the 4 MiB that it keeps for writes is given memory of its own each time: 8
  // MiB took 7.6 ms on an H200, in pieces of this size 4.6.
  size_t largest_write() const override { return size_t{1} << 20; }

  Ticket submit(WGPUDevice, WGPUQueue queue, WGPUCommandBuffer commands) override {
    wgpu().QueueSubmit(queue, 1, &commands);
    WGPUQueueWorkDoneCallbackInfo callback = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*) {};
    return wgpu().QueueOnSubmittedWorkDone(queue, callback).id;
  }
  bool may_have_run(Ticket ticket) override {
    WGPUFutureWaitInfo info = {};
    info.future = {ticket};
    return wgpu().InstanceWaitAny(instance_, 1, &info, /*timeoutNS=*/0) != WGPUWaitStatus_TimedOut;
  }
  void wait_for(WGPUDevice device, Ticket ticket) override {
    settle(WGPUFuture{ticket});
    run_callbacks(device);
  }
  void run_callbacks(WGPUDevice) override { wgpu().InstanceProcessEvents(instance_); }

 private:
  // The fast, the frugal and the software adapter, each once.
  std::vector<WGPUAdapter> request_each(WGPURequestAdapterOptions options) {
    std::vector<WGPUAdapter> out;
    const auto add = [&](WGPUPowerPreference preference, bool fallback) {
      options.powerPreference = preference;
      options.forceFallbackAdapter = fallback;
      WGPUAdapter adapter = request(options);
      if (adapter == nullptr) return;
      for (WGPUAdapter other : out) {
        if (!same_card(adapter, other)) continue;
        wgpu().AdapterRelease(adapter);
        return;
      }
      out.push_back(adapter);
    };
    add(WGPUPowerPreference_HighPerformance, /*fallback=*/false);
    add(WGPUPowerPreference_LowPower, /*fallback=*/false);
    add(WGPUPowerPreference_Undefined, /*fallback=*/true);
    return out;
  }

  WGPUAdapter request(const WGPURequestAdapterOptions& options) {
    WGPUAdapter adapter = nullptr;
    WGPURequestAdapterCallbackInfo callback = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
    callback.mode = WGPUCallbackMode_WaitAnyOnly;
    callback.userdata1 = static_cast<void*>(&adapter);
    callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter found, WGPUStringView, void* data,
                           void*) { *static_cast<WGPUAdapter*>(data) = found; };
    settle(wgpu().InstanceRequestAdapter(instance_, &options, callback));
    return adapter;
  }

  bool same_card(WGPUAdapter a, WGPUAdapter b) const {
    WGPUAdapterInfo x = WGPU_ADAPTER_INFO_INIT, y = WGPU_ADAPTER_INFO_INIT;
    wgpu().AdapterGetInfo(a, &x);
    wgpu().AdapterGetInfo(b, &y);
    const bool same = x.vendorID == y.vendorID && x.deviceID == y.deviceID &&
                      x.adapterType == y.adapterType && text(x.device) == text(y.device);
    wgpu().AdapterInfoFreeMembers(x);
    wgpu().AdapterInfoFreeMembers(y);
    return same;
  }

  WGPUInstance instance_;
  Enumerate enumerate_;
  FreeMatrixConfigs free_configs_;
};

}  // namespace

std::unique_ptr<Instance> make_dawn(const SharedLibrary& file, const Functions& wgpu) {
  DawnToggles allowed = toggles(kInstanceToggles);
  constexpr WGPUInstanceFeatureName kTimedWait = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.nextInChain = &allowed.chain;
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &kTimedWait;
  WGPUInstance instance = wgpu.CreateInstance(&descriptor);
  return instance ? std::make_unique<Dawn>(file, wgpu, instance) : nullptr;
}

}  // namespace puna::gpu::native
