// The build without a native WebGPU library (preset no-gpu, WebAssembly): there are no adapters.
#include "gpu/native/native.h"

namespace puna::gpu::native {

base::Result<std::vector<Adapter>> adapters() { return std::vector<Adapter>(); }

base::Result<std::unique_ptr<Device>> open(size_t, const OpenOptions&) {
  return base::fail(base::ErrorCode::kUnsupported,
                    "This build of Puna has no GPU support; use --device cpu.");
}

}  // namespace puna::gpu::native
