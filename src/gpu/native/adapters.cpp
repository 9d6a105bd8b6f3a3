// Finds adapters, opens devices, and asks probe kernels what the library does not tell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "gpu/native/library.h"
#include "gpu/native/native.h"
#include "gpu/native/native_device.h"
#include "gpu/quirks.h"

namespace puna::gpu::native {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// Above this a limit tells nothing that Puna uses (drivers report up to 2^63).
constexpr uint64_t kMostBufferBytes = uint64_t{1} << 40;
// Kernels index a binding by 32-bit words and bytes.
constexpr uint64_t kMostBindingBytes = (uint64_t{1} << 32) - 256;
constexpr uint32_t kMostWorkgroupBytes = 65536;
constexpr uint32_t kMostWorkgroupInvocations = 1024;
// Every kernel has a form that binds eight; a few do more at once where there is room.
constexpr uint32_t kMostStorageBuffers = 16;

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
  out.max_buffer_bytes = std::min(limits.maxBufferSize, kMostBufferBytes) & ~uint64_t{255};
  out.max_binding_bytes =
      std::min({limits.maxStorageBufferBindingSize, out.max_buffer_bytes, kMostBindingBytes}) &
      ~uint64_t{255};
  out.max_storage_buffers = std::min(limits.maxStorageBuffersPerShaderStage, kMostStorageBuffers);
  out.max_workgroup_bytes = std::min(limits.maxComputeWorkgroupStorageSize, kMostWorkgroupBytes);
  out.max_workgroup_invocations =
      std::min({limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX,
                limits.maxComputeWorkgroupSizeY, kMostWorkgroupInvocations});
  out.max_workgroups_per_dimension = limits.maxComputeWorkgroupsPerDimension;
  return out;
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

// --- probes
// ------------------------------------------------------------------------------------------------------------------

constexpr std::string_view kSubgroupProbe = R"(
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) i: u32) {
  if (i == 0u) { words[0] = size; }
}
)";

// Words 8 to 15 and 16 to 23 hold pairs of packed bytes; their products go to 24 to 31.
constexpr std::string_view kDotProbe = R"(
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  words[24u + i] = bitcast<u32>(dot4I8Packed(words[8u + i], words[16u + i]));
}
)";

constexpr size_t kProbeWords = 32;
constexpr std::array<uint32_t, 8> kDotLeft = {0x01020304, 0x80808080, 0x7f7f7f7f, 0xff01ff01,
                                              0x80017fff, 0,          0xdeadbeef, 0x12345678};
constexpr std::array<uint32_t, 8> kDotRight = {0x05060708, 0x80808080, 0x80808080, 0x01ff01ff,
                                               0x7f80ff01, 9,          0x12345678, 0x87654321};

uint32_t dot4(uint32_t a, uint32_t b) {
  int32_t sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
  return static_cast<uint32_t>(sum);
}

// Adds the dispatch of a probe that uses `buffer`; false when it does not compile.
bool add_probe(NativeDevice& device, std::string_view label, std::string_view wgsl, BufferId buffer,
               CommandList& list) {
  Result<PipelineId> pipeline = fail(ErrorCode::kInternal, "");
  device.create_pipeline(
      {std::string(label), wgsl_header(device.info()) + std::string(wgsl), {Access::kReadWrite}},
      [&](Result<PipelineId> made) { pipeline = std::move(made); });
  if (!pipeline) {
    base::log_warning("{}", pipeline.error().text());
    return false;
  }
  const Binding binding{buffer, 0, kProbeWords * 4};
  const auto group = device.create_bind_group(*pipeline, std::span(&binding, 1));
  if (group) list.dispatch(*pipeline, *group, 1);
  return group.has_value();
}

// Runs the probes and completes `info`: subgroup sizes where the library gave none, and whether
// dot4I8Packed is right.
Result<void> probe(NativeDevice& device, DeviceInfo& info) {
  std::array<uint32_t, kProbeWords> words = {};
  std::copy(kDotLeft.begin(), kDotLeft.end(), words.begin() + 8);
  std::copy(kDotRight.begin(), kDotRight.end(), words.begin() + 16);
  PUNA_TRY(const BufferId buffer,
           device.create_buffer(sizeof(words), BufferUse::kStorage, "probe"));
  PUNA_TRY(const BufferId answer,
           device.create_buffer(sizeof(words), BufferUse::kReadback, "probe answer"));
  PUNA_TRY(device.write_buffer(buffer, 0, std::as_bytes(std::span(words))));
  CommandList list;
  const bool subgroups =
      info.subgroups && add_probe(device, "subgroup probe", kSubgroupProbe, buffer, list);
  const bool dot = add_probe(device, "dot4 probe", kDotProbe, buffer, list);
  list.copy(buffer, 0, answer, 0, sizeof(words));
  PUNA_TRY(device.submit(list));
  Result<void> read = fail(ErrorCode::kInternal, "");
  bool done = false;
  device.read_back(answer, 0, std::as_writable_bytes(std::span(words)), [&](Result<void> result) {
    read = std::move(result);
    done = true;
  });
  while (!done) device.poll();
  PUNA_TRY(std::move(read));

  info.subgroups = subgroups && words[0] != 0;
  if (info.subgroups && info.subgroup_min == 0) info.subgroup_min = words[0];
  if (info.subgroups && info.subgroup_max == 0) info.subgroup_max = words[0];
  if (!info.subgroups) info.subgroup_min = info.subgroup_max = 0;
  info.dot4 = dot;
  for (size_t i = 0; i < kDotLeft.size(); ++i)
    info.dot4 = info.dot4 && words[24 + i] == dot4(kDotLeft[i], kDotRight[i]);
  device.destroy_buffer(buffer);
  device.destroy_buffer(answer);
  return {};
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
  PUNA_TRY_CONTEXT(probe(*device, info), context);
  for (const std::string_view quirk : apply_quirks(info))
    base::log_debug("Quirk {} applies to {}.", quirk, info.name);
  if (options.baseline) hide_features(info);
  device->set_info(std::move(info));
  return device;
}

}  // namespace puna::gpu::native
