#define WIN32_LEAN_AND_MEAN
#include <fmt/format.h>
#include <windows.h>

#include "gpu/native/shared_library.h"

namespace puna::gpu::native {
namespace {

std::string file_of_module(HMODULE module) {
  char path[4096];
  const DWORD n = GetModuleFileNameA(module, path, sizeof(path));
  return n < sizeof(path) ? std::string(path, n) : std::string();
}

}  // namespace

base::Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  const HMODULE handle = LoadLibraryA(name.c_str());
  if (handle != nullptr) return SharedLibrary(handle, name);
  return base::fail(base::ErrorCode::kNotFound,
                    fmt::format("{}: Windows error {}", name, GetLastError()));
}

void* SharedLibrary::address(const char* name) const {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

std::string file_of(const void* function) {
  HMODULE module = nullptr;
  const DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExA(flags, static_cast<LPCSTR>(function), &module)) return {};
  return file_of_module(module);
}

std::string program_folder() {
  const std::string file = file_of_module(nullptr);
  const size_t slash = file.find_last_of("\\/");
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

}  // namespace puna::gpu::native
