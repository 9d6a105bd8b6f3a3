// The WebGPU libraries of this process, and what each does in its own way. libraries.cpp finds and
// loads them; wgpu_native.cpp and dawn.cpp implement Instance. Internal to native/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/native/functions.h"
#include "gpu/native/native.h"

namespace puna::gpu::native {

inline WGPUStringView view(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string(text.data) : std::string(text.data, text.length);
}

struct Feature {
  WGPUFeatureName id;
  std::string_view name;  // WebGPU's name for it
};

// Names a submit for Instance::wait_for(), or a future; 0 names none.
using Ticket = uint64_t;

// With the pipeline, or null and what is wrong.
using PipelineCompiled = std::function<void(WGPUComputePipeline pipeline, std::string error)>;

// The answer to Instance::request_device().
struct RequestedDevice {
  WGPUDevice device = nullptr;
  std::string message = "the library did not answer";

  // Writes into this object, which outlives the call.
  WGPURequestDeviceCallbackInfo callback(WGPUCallbackMode mode);
  base::Result<WGPUDevice> result() const;
};

// A WGPUInstance with the ways of its library. One thread uses it at a time.
class Instance {
 public:
  explicit Instance(const Functions& wgpu) : wgpu_(wgpu) {}
  virtual ~Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Functions& wgpu() const { return wgpu_; }
  virtual Dialect dialect() const = 0;

  // Every adapter of Vulkan, Metal and D3D12; the caller releases them.
  virtual std::vector<WGPUAdapter> adapters() = 0;
  // Those worth showing by name, whether an adapter has them or not.
  virtual std::span<const Feature> features() const = 0;
  // The largest shape of matrix units that sums in f32: of f16, else of f32.
  virtual MatrixShape matrix_shape(WGPUAdapter adapter) const = 0;

  // The kinds of errors that scopes catch; others reach the device's error callback.
  virtual std::span<const WGPUErrorFilter> error_filters() const = 0;
  // Returns once the callback of `future` has run, for operations that need no work of the GPU.
  virtual void settle(WGPUFuture future) = 0;

  // Opens a device. Adds what the library itself needs to `descriptor`; options.trusted_shaders
  // drops bounds checks where that is a property of the device.
  virtual base::Result<WGPUDevice> request_device(WGPUAdapter adapter,
                                                  WGPUDeviceDescriptor descriptor,
                                                  const OpenOptions& options) = 0;
  // Releases a device; the descriptor's callbacks do not run any more after this returns.
  virtual void close_device(WGPUDevice device) = 0;

  virtual WGPUShaderModule create_shader_module(WGPUDevice device,
                                                const WGPUShaderModuleDescriptor& descriptor,
                                                bool trusted) = 0;

  // Begins to compile a pipeline on a thread of the library's; calls back while callbacks run. 0:
  // the library compiles on the thread that asks for it alone, so nothing was begun.
  virtual Ticket compile_beside(WGPUDevice, const WGPUComputePipelineDescriptor&,
                                const PipelineCompiled&) {
    return 0;
  }

  // A buffer that lies in memory of the host and keeps it until its work is done; its size is that
  // of the memory. Null where the library has no such buffers.
  virtual WGPUBuffer create_shared_buffer(WGPUDevice, WGPUBufferDescriptor,
                                          const std::shared_ptr<HostMemory>&) {
    return nullptr;
  }

  // Bytes that wgpuQueueWriteBuffer takes without a detour; larger writes are staged by us.
  virtual size_t largest_write() const { return SIZE_MAX; }

  virtual Ticket submit(WGPUDevice device, WGPUQueue queue, WGPUCommandBuffer commands) = 0;
  // Whether the submit has run, where that costs next to nothing to ask; else true.
  virtual bool may_have_run(Ticket) { return true; }
  // Blocks until the submit has run; callbacks that became due run meanwhile.
  virtual void wait_for(WGPUDevice device, Ticket ticket) = 0;
  // Lets due callbacks run, without blocking.
  virtual void run_callbacks(WGPUDevice device) = 0;

 private:
  const Functions& wgpu_;
};

// Null when the library cannot start.
std::unique_ptr<Instance> make_wgpu_native(const Functions& wgpu);
std::unique_ptr<Instance> make_dawn(const SharedLibrary& file, const Functions& wgpu);

class Library {
 public:
  Library(SharedLibrary file, const Functions& wgpu);

  LibraryKind kind() const { return kind_; }
  const std::string& path() const { return path_; }

  // An instance that nobody else uses until the pointer goes: events of an instance of Dawn run the
  // callbacks of all its devices, whichever thread asks. Instances are kept for the next caller, as
  // drivers do not unload well. Null when the library cannot start.
  std::shared_ptr<Instance> instance();

 private:
  LibraryKind kind_;
  SharedLibrary file_;
  Functions wgpu_;
  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Instance>> idle_;
};

using Libraries = std::vector<std::unique_ptr<Library>>;

// What `wanted`, a value of PUNA_WEBGPU, means: "dawn", "wgpu", the path of a library, or empty for
// all that are found. Errors: kInvalidArgument when what is wanted cannot be loaded, kNotFound when
// nothing is found; both name all that was tried.
base::Result<Libraries> load_libraries(const std::string& wanted);

// Those of this process, by PUNA_WEBGPU; loaded at first use and kept.
const base::Result<Libraries>& libraries();

}  // namespace puna::gpu::native
