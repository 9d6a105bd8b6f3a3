// What differs between libraries that implement webgpu.h. wgpu_native.cpp and dawn.cpp implement
// these functions; the build compiles one of them. Internal to native/.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/native/native.h"

namespace puna::gpu::native::library {

inline WGPUStringView view(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string(text.data) : std::string(text.data, text.length);
}

Dialect dialect();

// One instance for the whole process, made at first use and kept: drivers do not unload well. Null
// when the library cannot start.
WGPUInstance instance();

// Every adapter of Vulkan, Metal and D3D12; the caller releases them.
std::vector<WGPUAdapter> enumerate_adapters();

// The kinds of errors that scopes catch; others reach the device's error callback.
std::span<const WGPUErrorFilter> error_filters();
// Returns once the callback of `future` has run, for operations that need no work of the GPU.
void settle(WGPUFuture future);

struct Feature {
  WGPUFeatureName id;
  std::string_view name;  // WebGPU's name for it
};
// Those worth showing by name, whether an adapter has them or not.
std::span<const Feature> features();

// The largest shape of matrix units that takes f16 and sums in f32.
MatrixShape matrix_shape(WGPUAdapter adapter);

// Opens a device. Adds what the library itself needs to `descriptor`; options.trusted_shaders drops
// bounds checks where that is a property of the device.
base::Result<WGPUDevice> request_device(WGPUAdapter adapter, WGPUDeviceDescriptor descriptor,
                                        const OpenOptions& options);

// Releases a device; the descriptor's callbacks do not run any more after this returns.
void close_device(WGPUDevice device);

WGPUShaderModule create_shader_module(WGPUDevice device,
                                      const WGPUShaderModuleDescriptor& descriptor, bool trusted);

// Names a submit for wait_for().
using Ticket = uint64_t;
Ticket submit(WGPUDevice device, WGPUQueue queue, WGPUCommandBuffer commands);
// Blocks until the submit has run; callbacks that became due run meanwhile.
void wait_for(WGPUDevice device, Ticket ticket);
// Lets due callbacks run, without blocking.
void run_callbacks(WGPUDevice device);

}  // namespace puna::gpu::native::library
