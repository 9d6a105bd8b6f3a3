// Finds adapters and opens devices.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
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
  void operator()(WGPUAdapter adapter) const { wgpuAdapterRelease(adapter); }
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

Adapter describe(WGPUAdapter adapter) {
  Adapter out;
  DeviceInfo& info = out.info;
  WGPUAdapterInfo about = {};
  wgpuAdapterGetInfo(adapter, &about);
  info.name = library::text(about.device);
  info.driver = library::text(about.description);
  info.vendor = vendor_name(about.vendorID);
  if (info.vendor.empty()) info.vendor = library::text(about.vendor);
  info.backend = backend_name(about.backendType);
  info.type = adapter_type(about.adapterType);
  info.dialect = library::dialect();
  info.subgroup_min = about.subgroupMinSize;
  info.subgroup_max = about.subgroupMaxSize;
  wgpuAdapterInfoFreeMembers(about);
  for (const library::Feature& feature : library::features()) {
    if (!wgpuAdapterHasFeature(adapter, feature.id)) continue;
    out.features.emplace_back(feature.name);
    info.f16 = info.f16 || feature.name == "shader-f16";
    info.subgroups = info.subgroups || feature.name == "subgroups";
    info.subgroup_matrix = info.subgroup_matrix || feature.name == "subgroup-matrix";
  }
  if (info.subgroup_matrix) info.matrix = library::matrix_shape(adapter);
  WGPULimits limits = {};
  wgpuAdapterGetLimits(adapter, &limits);
  info.limits = limits_of(limits);
  return out;
}

struct Found {
  AdapterHandle handle;
  Adapter adapter;
};

Result<std::vector<Found>> find_adapters() {
  if (library::instance() == nullptr)
    return fail(ErrorCode::kDevice, "The WebGPU library cannot start on this system.");
  std::vector<Found> found;
  for (WGPUAdapter adapter : library::enumerate_adapters()) {
    AdapterHandle handle(adapter);
    Adapter about = describe(adapter);
    const auto behind = std::upper_bound(
        found.begin(), found.end(), rank(about.info.type),
        [](int own, const Found& other) { return own < rank(other.adapter.info.type); });
    found.insert(behind, {std::move(handle), std::move(about)});
  }
  return found;
}

void on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView message, void* data, void*) {
  auto& health = *static_cast<Health*>(data);
  if (health.closing) return;
  health.lost = true;
  health.reason = library::text(message);
  if (health.reason.empty()) health.reason = "the driver gave no reason.";
  base::log_warning("The GPU is lost: {}", health.reason);
}

void on_error(const WGPUDevice*, WGPUErrorType, WGPUStringView message, void* data, void*) {
  auto& health = *static_cast<Health*>(data);
  if (health.closing) return;
  if (health.error.empty()) health.error = library::text(message);
  base::log_warning("The GPU reports an error: {}", library::text(message));
}

// Asks for exactly what `info` says.
Result<Opened> request(WGPUAdapter adapter, const DeviceInfo& info, const OpenOptions& options) {
  std::vector<WGPUFeatureName> wanted;
  for (const library::Feature& feature : library::features()) {
    if (!wgpuAdapterHasFeature(adapter, feature.id)) continue;
    if ((feature.name == "shader-f16" && info.f16) ||
        (feature.name == "subgroups" && info.subgroups) ||
        (feature.name == "subgroup-matrix" && info.subgroup_matrix) ||
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
  opened.health = std::make_unique<Health>();
  opened.info = info;
  opened.trusted_shaders = options.trusted_shaders;
  WGPUDeviceDescriptor descriptor = {};
  descriptor.label = library::view("puna");
  descriptor.requiredFeatureCount = wanted.size();
  descriptor.requiredFeatures = wanted.data();
  descriptor.requiredLimits = &limits;
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowProcessEvents;
  descriptor.deviceLostCallbackInfo.callback = on_lost;
  descriptor.deviceLostCallbackInfo.userdata1 = opened.health.get();
  descriptor.uncapturedErrorCallbackInfo.callback = on_error;
  descriptor.uncapturedErrorCallbackInfo.userdata1 = opened.health.get();
  PUNA_TRY(opened.device, library::request_device(adapter, descriptor, options));
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
  PUNA_TRY_CONTEXT(Opened opened, request(found[index].handle.get(), info, options), context);
  auto device = std::make_unique<NativeDevice>(std::move(opened));
  PUNA_TRY_CONTEXT(info, base::run_until(probe(*device), [&] { device->poll(); }), context);
  for (const std::string_view quirk : apply_quirks(info))
    base::log_debug("Quirk {} applies to {}.", quirk, info.name);
  if (options.baseline) hide_features(info);
  device->set_info(std::move(info));
  return device;
}

}  // namespace puna::gpu::native
