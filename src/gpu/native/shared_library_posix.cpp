#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "gpu/native/shared_library.h"

namespace puna::gpu::native {

base::Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle, name);
  const char* message = dlerror();
  return base::fail(base::ErrorCode::kNotFound, message ? message : name + ": unknown error");
}

void* SharedLibrary::address(const char* name) const { return dlsym(handle_, name); }

std::string file_of(const void* function) {
  Dl_info about = {};
  const bool known = dladdr(function, &about) != 0 && about.dli_fname != nullptr;
  return known ? about.dli_fname : std::string();
}

std::string program_folder() {
  std::error_code error;
  std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  // macOS has no /proc, but tells the whole path of what is loaded.
  if (error) file = file_of(reinterpret_cast<const void*>(&program_folder));
  return file.has_parent_path() ? file.parent_path().string() + "/" : std::string();
}

}  // namespace puna::gpu::native
