#include "gpu/native/functions.h"

#include <fmt/format.h>

namespace puna::gpu::native {

base::Result<Functions> load_functions(const SharedLibrary& library) {
  Functions out;
  const char* lacks = nullptr;
#define PUNA_LOAD_(function)                                             \
  out.function = library.find<decltype(out.function)>("wgpu" #function); \
  if (out.function == nullptr && lacks == nullptr) lacks = "wgpu" #function;
  PUNA_WEBGPU_FUNCTIONS(PUNA_LOAD_)
  if (library.find<void*>("wgpuGetVersion") != nullptr) {
    PUNA_WGPU_NATIVE_FUNCTIONS(PUNA_LOAD_)
  }
#undef PUNA_LOAD_
  if (lacks == nullptr) return out;
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("{}: it has no function {}", library.name(), lacks));
}

}  // namespace puna::gpu::native
