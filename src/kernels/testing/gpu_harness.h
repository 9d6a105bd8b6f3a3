// Runs kernel calls on the first native adapter (software Vulkan will do) for tests: buffers,
// pipelines and bind groups made on the spot, outputs poisoned with NaN and followed by guard
// words.
//
//   auto gpu = test::GpuHarness::open();
//   if (!gpu) return;  // said so loudly
//   const Slice x = gpu->upload(values), y = gpu->output(n * 4);
//   gpu->run(calls, {.n_tokens = 3});
//   gpu->read<float>(y);
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device.h"
#include "kernels/common/call.h"

namespace puna::kernels::test {

enum class Features : uint8_t {
  kAll,
  kBaseline
};  // kBaseline: no optional feature, default limits

// Which cases of a long list a test takes: all of them, or every n-th where a kernel takes seconds
// to compile.
class EveryNth {
 public:
  EveryNth(const gpu::DeviceInfo& device, uint32_t n) : n_(device.slow_compiler ? n : 1) {}
  bool takes_next() { return i_++ % n_ == 0; }

 private:
  uint32_t n_, i_ = 0;
};

class GpuHarness {
 public:
  // One device for each Features in a process. Without an adapter: a message and nullptr.
  static std::unique_ptr<GpuHarness> open(Features features = Features::kAll);
  ~GpuHarness();

  gpu::Device& device() { return *device_; }
  const gpu::DeviceInfo& info() const { return device_->info(); }

  // A buffer with these contents; its slice is a multiple of 4 bytes.
  template <class T>
  Slice upload(const std::vector<T>& values) {
    return upload_bytes(std::as_bytes(std::span(values)));
  }
  Slice upload_bytes(std::span<const std::byte> bytes);
  // A buffer of NaN bits with guard words after it; run() checks the guards.
  Slice output(uint64_t bytes);
  // A step buffer with n_tokens rows, all of them outputs, and these token ids (others 0).
  Slice step(uint32_t n_tokens, const std::vector<uint32_t>& tokens = {});
  void write(const Slice& slice, std::span<const std::byte> bytes);

  // Compiles, binds, submits and waits; fails the test on any error and on a guard word that
  // changed.
  void run(std::span<const KernelCall> calls, const StepShape& shape = {});

  template <class T>
  std::vector<T> read(const Slice& slice) {
    std::vector<T> values(slice.bytes / sizeof(T));
    read_bytes(slice.buffer, slice.offset, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  struct Buffer {
    gpu::BufferId id;
    uint64_t bytes = 0;
    bool guarded = false;
  };
  explicit GpuHarness(gpu::Device& device) : device_(&device) {}
  Slice create(std::span<const std::byte> bytes, uint64_t slice_bytes, bool guarded);
  void read_bytes(uint32_t buffer, uint64_t offset, std::span<std::byte> out);

  gpu::Device* device_;
  std::vector<Buffer> buffers_;
};

}  // namespace puna::kernels::test
