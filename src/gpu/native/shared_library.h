// A library of functions loaded at run time. shared_library_posix.cpp and
// shared_library_windows.cpp implement it; the build compiles one of them.
#pragma once

#include <string>

#include "base/result.h"

namespace puna::gpu::native {

class SharedLibrary {
 public:
  // A name without a folder is looked for where the system looks. What is loaded stays until the
  // process ends: drivers do not unload well. Errors: kNotFound with the system's message.
  static base::Result<SharedLibrary> open(const std::string& name);

  // The function's address, as pointer type F; null where the library has none of that name.
  template <class F>
  F find(const char* name) const {
    return reinterpret_cast<F>(address(name));
  }
  const std::string& name() const { return name_; }

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* address(const char* name) const;

  void* handle_;
  std::string name_;
};

// The file that a loaded function comes from; empty where the system does not tell.
std::string file_of(const void* function);
// Where the program's file lies, with a slash at its end; empty where the system does not tell.
std::string program_folder();

}  // namespace puna::gpu::native
