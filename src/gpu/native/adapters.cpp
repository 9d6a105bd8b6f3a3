// Finds adapters, deals them to libraries and opens devices.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "gpu/native/choose_library.h"
#include "gpu/native/library.h"
#include "gpu/native/native.h"
#include "gpu/native/native_device.h"
#include "gpu/probe.h"
#include "gpu/quirks.h"
#include "gpu/rules.h"

namespace puna::gpu::native {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct AdapterRelease {
  std::shared_ptr<Instance> instance;  // which outlives it so
  void operator()(WGPUAdapter adapter) const { instance->wgpu().AdapterRelease(adapter); }
};
using AdapterHandle = std::unique_ptr<WGPUAdapterImpl, AdapterRelease>;

std::string_view vendor_name(uint32_t id) {
  switch (id) {
    case 0x1002:
      return "amd";
    case 0x106b:
      return "apple";
    case 0x10de:
      return "nvidia";
    case 0x13b5:
      return "arm";
    case 0x1414:
      return "microsoft";
    case 0x5143:
      return "qualcomm";
    case 0x8086:
      return "intel";
    case 0x10005:
      return "mesa";
    default:
      return "";
  }
}

std::string_view backend_name(WGPUBackendType type) {
  switch (type) {
    case WGPUBackendType_Vulkan:
      return "vulkan";
    case WGPUBackendType_Metal:
      return "metal";
    case WGPUBackendType_D3D12:
      return "d3d12";
    default:
      return "other";
  }
}

AdapterType adapter_type(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return AdapterType::kDiscrete;
    case WGPUAdapterType_IntegratedGPU:
      return AdapterType::kIntegrated;
    case WGPUAdapterType_CPU:
      return AdapterType::kSoftware;
    default:
      return AdapterType::kUnknown;
  }
}

int rank(AdapterType type) {
  switch (type) {
    case AdapterType::kDiscrete:
      return 0;
    case AdapterType::kIntegrated:
      return 1;
    case AdapterType::kUnknown:
      return 2;
    case AdapterType::kSoftware:
      return 3;
  }
  return 4;
}

Limits limits_of(const WGPULimits& limits) {
  Limits out;
  out.max_buffer_bytes = limits.maxBufferSize;
  out.max_binding_bytes = limits.maxStorageBufferBindingSize;
  out.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
  out.max_workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
  out.max_workgroup_invocations =
      std::min({limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX,
                limits.maxComputeWorkgroupSizeY});
  out.max_workgroups_per_dimension = limits.maxComputeWorkgroupsPerDimension;
  return usable(out);
}

Adapter describe(const Instance& instance, WGPUAdapter adapter) {
  const Functions& wgpu = instance.wgpu();
  Adapter out;
  DeviceInfo& info = out.info;
  WGPUAdapterInfo about = {};
  wgpu.AdapterGetInfo(adapter, &about);
  info.name = text(about.device);
  info.driver = text(about.description);
  info.vendor = vendor_name(about.vendorID);
  if (info.vendor.empty()) info.vendor = text(about.vendor);
  info.backend = backend_name(about.backendType);
  info.type = adapter_type(about.adapterType);
  info.dialect = instance.dialect();
  info.subgroup_min = about.subgroupMinSize;
  info.subgroup_max = about.subgroupMaxSize;
  wgpu.AdapterInfoFreeMembers(about);
  for (const Feature& feature : instance.features()) {
    if (!wgpu.AdapterHasFeature(adapter, feature.id)) continue;
    out.features.emplace_back(feature.name);
    info.f16 = info.f16 || feature.name == "shader-f16";
    info.subgroups = info.subgroups || feature.name == "subgroups";
    info.subgroup_matrix = info.subgroup_matrix || feature.name == "subgroup-matrix";
    info.shares_memory = info.shares_memory || feature.name == "host-mapped-pointer";
  }
  if (info.subgroup_matrix) info.matrix = instance.matrix_shape(adapter);
  WGPULimits limits = {};
  wgpu.AdapterGetLimits(adapter, &limits);
  info.limits = limits_of(limits);
  return out;
}

struct Found {
  std::shared_ptr<Instance> instance;
  AdapterHandle handle;
  Adapter adapter;
};

std::vector<Found> offered_by(const Library& library, const std::shared_ptr<Instance>& instance) {
  std::vector<Found> out;
  for (WGPUAdapter adapter : instance->adapters()) {
    Found found{instance, AdapterHandle(adapter, {instance}), describe(*instance, adapter)};
    found.adapter.library = library.kind();
    found.adapter.library_path = library.path();
    out.push_back(std::move(found));
  }
  return out;
}

// The same card through the same driver. Of equal cards the n-th of one library is the n-th of the
// other: all of them are served by the same one.
bool same_adapter(const Adapter& a, const Adapter& b) {
  return a.info.name == b.info.name && a.info.backend == b.info.backend;
}

// Takes from `others` the first adapter that is the same as `one`.
std::optional<Found> take_same(const Found& one, std::vector<Found>& others) {
  const auto same = std::ranges::find_if(
      others, [&](const Found& other) { return same_adapter(one.adapter, other.adapter); });
  if (same == others.end()) return std::nullopt;
  std::optional<Found> out = std::move(*same);
  others.erase(same);
  return out;
}

// One of two offers of an adapter, at least one of which is there.
Found choose(std::optional<Found> dawn, std::optional<Found> wgpu_native) {
  LibraryChoice choice = choose_library(dawn ? &dawn->adapter.info : nullptr,
                                        wgpu_native ? &wgpu_native->adapter.info : nullptr);
  Found out = *std::move(choice.library == LibraryKind::kDawn ? dawn : wgpu_native);
  out.adapter.library_why = std::move(choice.why);
  return out;
}

Result<std::vector<Found>> find_adapters() {
  if (!libraries()) return std::unexpected(libraries().error());
  std::vector<Found> of_dawn, of_wgpu_native, all;
  bool any_starts = false, has_dawn = false;
  for (const std::unique_ptr<Library>& library : *libraries()) {
    const std::shared_ptr<Instance> instance = library->instance();
    if (!instance) continue;
    any_starts = true;
    const bool is_dawn = library->kind() == LibraryKind::kDawn;
    has_dawn = has_dawn || is_dawn;
    (is_dawn ? of_dawn : of_wgpu_native) = offered_by(*library, instance);
  }
  if (!any_starts)
    return fail(ErrorCode::kDevice, "The WebGPU library cannot start on this system.");
  const auto add = [&](Found one) {
    if (!has_dawn) one.adapter.advice = advise_dawn(one.adapter.info);
    const auto behind = std::upper_bound(
        all.begin(), all.end(), rank(one.adapter.info.type),
        [](int own, const Found& other) { return own < rank(other.adapter.info.type); });
    all.insert(behind, std::move(one));
  };
  for (Found& one : of_dawn) {
    std::optional<Found> other = take_same(one, of_wgpu_native);
    add(choose(std::move(one), std::move(other)));
  }
  for (Found& one : of_wgpu_native) add(choose(std::nullopt, std::move(one)));
  return all;
}

void on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView message, void* data, void*) {
  auto& health = *static_cast<Health*>(data);
  if (health.closing) return;
  health.lost = true;
  health.reason = text(message);
  if (health.reason.empty()) health.reason = "the driver gave no reason.";
  base::log_warning("The GPU is lost: {}", health.reason);
}

void on_error(const WGPUDevice*, WGPUErrorType, WGPUStringView message, void* data, void*) {
  auto& health = *static_cast<Health*>(data);
  if (health.closing) return;
  if (health.error.empty()) health.error = text(message);
  base::log_warning("The GPU reports an error: {}", text(message));
}

// Asks for exactly what `info` says.
Result<Opened> request(const Found& found, const DeviceInfo& info, const OpenOptions& options) {
  WGPUAdapter adapter = found.handle.get();
  std::vector<WGPUFeatureName> wanted;
  for (const Feature& feature : found.instance->features()) {
    if (!found.instance->wgpu().AdapterHasFeature(adapter, feature.id)) continue;
    if ((feature.name == "shader-f16" && info.f16) ||
        (feature.name == "subgroups" && info.subgroups) ||
        (feature.name == "subgroup-matrix" && info.subgroup_matrix) ||
        (feature.name == "host-mapped-pointer" && info.shares_memory) ||
        (feature.name == "timestamp-query" && options.timestamps)) {
      wanted.push_back(feature.id);
    }
  }
  WGPULimits limits = WGPU_LIMITS_INIT;
  limits.maxBufferSize = info.limits.max_buffer_bytes;
  limits.maxStorageBufferBindingSize = info.limits.max_binding_bytes;
  limits.maxStorageBuffersPerShaderStage = info.limits.max_storage_buffers;
  limits.maxComputeWorkgroupStorageSize = info.limits.max_workgroup_bytes;
  limits.maxComputeInvocationsPerWorkgroup = info.limits.max_workgroup_invocations;
  limits.maxComputeWorkgroupSizeX = info.limits.max_workgroup_invocations;
  limits.maxComputeWorkgroupSizeY = info.limits.max_workgroup_invocations;
  limits.maxComputeWorkgroupsPerDimension = info.limits.max_workgroups_per_dimension;

  Opened opened;
  opened.instance = found.instance;
  opened.health = std::make_unique<Health>();
  opened.info = info;
  opened.trusted_shaders = options.trusted_shaders;
  opened.memory_bytes = options.memory_bytes;
  WGPUDeviceDescriptor descriptor = {};
  descriptor.label = view("puna");
  descriptor.requiredFeatureCount = wanted.size();
  descriptor.requiredFeatures = wanted.data();
  descriptor.requiredLimits = &limits;
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowProcessEvents;
  descriptor.deviceLostCallbackInfo.callback = on_lost;
  descriptor.deviceLostCallbackInfo.userdata1 = opened.health.get();
  descriptor.uncapturedErrorCallbackInfo.callback = on_error;
  descriptor.uncapturedErrorCallbackInfo.userdata1 = opened.health.get();
  PUNA_TRY(opened.device, found.instance->request_device(adapter, descriptor, options));
  return opened;
}

}  // namespace

Result<std::vector<Adapter>> adapters() {
  PUNA_TRY(std::vector<Found> found, find_adapters());
  std::vector<Adapter> out;
  for (Found& one : found) out.push_back(std::move(one.adapter));
  return out;
}

Result<std::unique_ptr<Device>> open(size_t index, const OpenOptions& options) {
  PUNA_TRY(std::vector<Found> found, find_adapters());
  if (index >= found.size()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("There is no GPU {}; this system has {} (see `puna devices`).", index,
                            found.size()));
  }
  DeviceInfo info = found[index].adapter.info;
  if (options.baseline) hide_features(info);
  const std::string context = fmt::format("While opening {}", info.name);
  PUNA_TRY_CONTEXT(Opened opened, request(found[index], info, options), context);
  auto device = std::make_unique<NativeDevice>(std::move(opened));
  PUNA_TRY_CONTEXT(info, base::run_until(probe(*device), [&] { device->poll(); }), context);
  for (const std::string_view quirk : apply_quirks(info))
    base::log_debug("Quirk {} applies to {}.", quirk, info.name);
  if (options.baseline) hide_features(info);
  device->set_info(std::move(info));
  return device;
}

}  // namespace puna::gpu::native
