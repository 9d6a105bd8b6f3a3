// Devices of the webgpu.h library this build is linked with (wgpu-native or Dawn). With the no-gpu
// preset the list is empty.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace puna::gpu::native {

struct Adapter {
  DeviceInfo info;
  std::vector<std::string> features;  // names as WebGPU's, for `puna devices`
};

// All adapters, real ones first (discrete, integrated, unknown, software). Errors: kDevice when the
// library cannot start.
base::Result<std::vector<Adapter>> adapters();

struct OpenOptions {
  // Hide every optional feature and raise no limit (--gpu-features baseline).
  bool baseline = false;
  // Drop bounds checks where the library allows it.
  bool trusted_shaders = true;
  // Compiled pipelines are kept in this folder where the library can (Dawn); empty: nowhere.
  std::string cache_dir = {};
  // Ask for timestamp-query: only for profiling, it slows decoding on some drivers.
  bool timestamps = false;
};
// Opens adapter `index` of adapters(). Errors: kNotFound, kDevice.
base::Result<std::unique_ptr<Device>> open(size_t index, const OpenOptions& options = {});

}  // namespace puna::gpu::native
