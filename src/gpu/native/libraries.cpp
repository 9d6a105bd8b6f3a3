// Finds the WebGPU libraries: beside the program, else where the system looks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/log.h"
#include "gpu/native/library.h"

namespace puna::gpu::native {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct Known {
  LibraryKind kind;
  const char* asked_as;            // by PUNA_WEBGPU
  std::vector<const char*> files;  // as builds and packages name it
};
#define PUNA_FILE_(name) PUNA_LIBRARY_PREFIX name PUNA_LIBRARY_SUFFIX
const Known kKnown[] = {
    {LibraryKind::kDawn, "dawn", {PUNA_FILE_("webgpu_dawn"), PUNA_FILE_("webgpu_dawn") ".0"}},
    {LibraryKind::kWgpuNative,
     "wgpu",
     {PUNA_FILE_("wgpu_native-release"), PUNA_FILE_("wgpu_native")}},
};
#undef PUNA_FILE_

Result<std::unique_ptr<Library>> load(const std::string& name) {
  PUNA_TRY(const SharedLibrary file, SharedLibrary::open(name));
  PUNA_TRY(const Functions wgpu, load_functions(file));
  return std::make_unique<Library>(file, wgpu);
}

// The first library of that kind that loads; null where none does. `tried` says what was missing.
std::unique_ptr<Library> find(const Known& known, std::vector<std::string>& tried) {
  for (const std::string& folder : {program_folder(), std::string()}) {
    for (const char* file : known.files) {
      Result<std::unique_ptr<Library>> loaded = load(folder + file);
      if (loaded && (*loaded)->kind() == known.kind) return *std::move(loaded);
      tried.push_back(loaded ? folder + file + ": it is another library" : loaded.error().text());
    }
  }
  return nullptr;
}

}  // namespace

WGPURequestDeviceCallbackInfo RequestedDevice::callback(WGPUCallbackMode mode) {
  WGPURequestDeviceCallbackInfo out = {};
  out.mode = mode;
  out.userdata1 = this;
  out.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message, void* data,
                    void*) {
    auto& answer = *static_cast<RequestedDevice*>(data);
    answer.device = device;
    answer.message = text(message);
  };
  return out;
}

base::Result<WGPUDevice> RequestedDevice::result() const {
  if (device != nullptr) return device;
  return fail(ErrorCode::kDevice, "The GPU cannot be opened: " + message);
}

Library::Library(SharedLibrary file, const Functions& wgpu)
    : kind_(wgpu.DevicePoll ? LibraryKind::kWgpuNative : LibraryKind::kDawn),
      file_(std::move(file)),
      wgpu_(wgpu),
      path_(file_of(reinterpret_cast<const void*>(wgpu.CreateInstance))) {}

std::shared_ptr<Instance> Library::instance() {
  std::unique_ptr<Instance> instance;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      instance = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!instance)
    instance = kind_ == LibraryKind::kDawn ? make_dawn(file_, wgpu_) : make_wgpu_native(wgpu_);
  if (!instance) return nullptr;
  return {instance.release(), [this](Instance* used) {
            const std::lock_guard lock(mutex_);
            idle_.emplace_back(used);
          }};
}

Result<Libraries> load_libraries(const std::string& wanted) {
  Libraries out;
  std::vector<std::string> tried;
  bool is_path = !wanted.empty();
  for (const Known& known : kKnown) {
    if (!wanted.empty() && wanted != known.asked_as) continue;
    is_path = false;
    if (auto found = find(known, tried)) out.push_back(std::move(found));
  }
  if (is_path) {
    Result<std::unique_ptr<Library>> loaded = load(wanted);
    if (loaded) {
      out.push_back(*std::move(loaded));
    } else {
      tried.push_back(loaded.error().text());
    }
  }
  for (const std::string& one : tried) base::log_debug("No WebGPU library: {}", one);
  if (!out.empty()) return out;
  const std::string all = fmt::format("{}", fmt::join(tried, "; "));
  if (wanted.empty())
    return fail(ErrorCode::kNotFound, fmt::format("No WebGPU library can be loaded ({}).", all));
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("PUNA_WEBGPU is \"{}\" (dawn, wgpu or the path of a library), which cannot "
                  "be loaded ({}).",
                  wanted, all));
}

const Result<Libraries>& libraries() {
  // Never destroyed: devices that live until the end of the process still call into it.
  static const auto& loaded = *new Result<Libraries>([] {
#ifdef __linux__
    // Mesa's device-select layer looks for a Wayland display and complains on stderr where a
    // session has no XDG_RUNTIME_DIR (ssh, containers). It only reorders devices, which
    // adapters.cpp does itself.
    if (std::getenv("XDG_RUNTIME_DIR") == nullptr) setenv("NODEVICE_SELECT", "1", /*overwrite=*/0);
#endif
    const char* wanted = std::getenv("PUNA_WEBGPU");
    return load_libraries(wanted ? wanted : "");
  }());
  return loaded;
}

}  // namespace puna::gpu::native
