// Which WebGPU library serves an adapter that both offer.
#pragma once

#include <string>

#include "gpu/native/native.h"

namespace puna::gpu::native {

struct LibraryChoice {
  LibraryKind library = LibraryKind::kWgpuNative;
  std::string why;  // a clause without a full stop
};

// `dawn` and `wgpu_native` say what each library offers of one adapter; at least one is not null.
LibraryChoice choose_library(const DeviceInfo* dawn, const DeviceInfo* wgpu_native);

// What Dawn would gain for an adapter where it is missing, and how to get it; empty where it would
// gain nothing that is known.
std::string advise_dawn(const DeviceInfo& info);

}  // namespace puna::gpu::native
