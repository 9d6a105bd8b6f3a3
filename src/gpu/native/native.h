// Devices of the webgpu.h library this build is linked with (wgpu-native or Dawn). With the no-gpu
// preset the list is empty.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace puna::gpu::native {

struct Adapter {
  DeviceInfo info;  // what a device of it would offer (before quirks of --gpu-features)
  std::vector<std::string> features;  // names as WebGPU's, for `puna devices`
};

// All adapters, real ones first (discrete, integrated, unknown, software). Errors: kDevice when the
// library cannot start.
base::Result<std::vector<Adapter>> adapters();

struct OpenOptions {
  bool baseline =
      false;  // hide every optional feature and raise no limit (--gpu-features baseline)
  bool trusted_shaders = true;  // drop bounds checks where the library allows it
  bool timestamps =
      false;  // ask for timestamp-query: only profiling (slows decoding on some drivers)
};
// Opens adapter `index` of adapters(). Errors: kNotFound, kDevice.
base::Result<std::unique_ptr<Device>> open(size_t index, const OpenOptions& options = {});

}  // namespace puna::gpu::native
