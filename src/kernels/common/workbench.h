// Workbench: kernel calls run on a device outside any plan, for self-tests and measurements. It
// owns the buffers; Slice::buffer is an index into them. Blocks: native devices only.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/device.h"
#include "kernels/attention/attention.h"
#include "kernels/common/call.h"
#include "kernels/common/step.h"

namespace puna::kernels {

class Workbench {
 public:
  explicit Workbench(gpu::Device& device) : device_(device) {}
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  gpu::Device& device() { return device_; }
  const gpu::DeviceInfo& info() const { return device_.info(); }

  // Errors of all that make buffers: kOutOfMemory.
  base::Result<Slice> create(uint64_t bytes);
  template <class T>
  base::Result<Slice> upload(std::span<const T> values) {
    return upload_bytes(std::as_bytes(values));
  }
  template <class T>
  base::Result<Slice> upload(const T* values, uint64_t n) {
    return upload(std::span<const T>(values, static_cast<size_t>(n)));
  }
  base::Result<void> write(const Slice& slice, std::span<const std::byte> bytes);
  // Filled with NaN: what a kernel forgets to write shows.
  base::Result<Slice> output(uint64_t n_floats);
  // Random words under a mask. kCodesAndScales: halves that read as f16 numbers below 0.125, so
  // that as weights of any type they stay finite; kActivations: halves of at most about 1, with a
  // small f32 reading.
  static constexpr uint32_t kActivations = 0xbbffbbffu, kCodesAndScales = 0x2fff2fffu;
  base::Result<Slice> pattern(uint64_t bytes, uint32_t mask);
  // A step of n_rows tokens and outputs, at the positions given or at zero.
  base::Result<Slice> step(uint32_t n_rows, const CpuStep* rows = nullptr,
                           AttentionSplits splits = {});

  // Appends the dispatches of calls. Errors: kDevice with the compiler's message.
  base::Result<void> record(std::span<const KernelCall> calls, const StepShape& shape,
                            gpu::CommandList& list);
  // Frees what record() has bound; lists recorded before are then dead.
  void drop_groups();
  base::Result<void> run(std::span<const KernelCall> calls, const StepShape& shape);

  template <class T>
  base::Result<void> read(const Slice& slice, T* out, uint64_t n) {
    const size_t bytes = static_cast<size_t>(n) * sizeof(T);
    std::vector<std::byte> copy((bytes + 3) / 4 * 4);
    PUNA_TRY(read_bytes(slice, copy));
    std::memcpy(out, copy.data(), bytes);
    return {};
  }

 private:
  base::Result<Slice> upload_bytes(std::span<const std::byte> bytes);
  base::Result<void> read_bytes(const Slice& slice, std::span<std::byte> out);

  gpu::Device& device_;
  std::vector<gpu::BufferId> buffers_;  // by Slice::buffer
  std::vector<gpu::BindGroupId> groups_;
};

}  // namespace puna::kernels
