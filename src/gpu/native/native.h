// Devices of the WebGPU libraries that this process finds: Dawn, wgpu-native, or both. Which are
// looked for, the environment variable PUNA_WEBGPU says (library.h). With the no-gpu preset the
// list is empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace puna::gpu::native {

enum class LibraryKind { kDawn, kWgpuNative };
inline std::string_view name(LibraryKind kind) {
  return kind == LibraryKind::kDawn ? "Dawn" : "wgpu-native";
}

struct Adapter {
  DeviceInfo info;
  std::vector<std::string> features;  // names as WebGPU's, for `puna devices`
  LibraryKind library = LibraryKind::kWgpuNative;
  std::string library_path;
  std::string library_why;  // why this library and not the other: a clause without a full stop
  std::string advice;       // what the other library would gain, and how to get it; empty: nothing
};

// All adapters, each once, real ones first (discrete, integrated, unknown, software). Errors, each
// with what was tried: kInvalidArgument when PUNA_WEBGPU names what cannot be loaded, kNotFound
// when there is no library, kDevice when none starts.
base::Result<std::vector<Adapter>> adapters();

struct OpenOptions {
  // Hide every optional feature and raise no limit (--gpu-features baseline).
  bool baseline = false;
  // Drop bounds checks where the library allows it.
  bool trusted_shaders = true;
  // Compiled pipelines are kept in this folder where the library can (Dawn); empty: nowhere.
  std::string cache_dir = {};
  // Buffers of more bytes together are refused, as if the adapter had no more memory; none: what
  // it has.
  std::optional<uint64_t> memory_bytes = {};
  // Ask for timestamp-query: only for profiling, it slows decoding on some drivers.
  bool timestamps = false;
};
// Opens adapter `index` of adapters(). Errors: kNotFound, kDevice, those of adapters().
base::Result<std::unique_ptr<Device>> open(size_t index, const OpenOptions& options = {});

}  // namespace puna::gpu::native
