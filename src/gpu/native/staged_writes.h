// Large writes to buffers, by way of memory that the device keeps. Internal to native/.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "gpu/native/library.h"

namespace puna::gpu::native {

// For a library that gives each large write new memory, which costs more than the copy. Stages are
// mapped, filled, given to the queue and mapped again, in turn; there are as many as were ever on
// their way at once, up to kMostStages. The library has to know futures (Instance::may_have_run).
class StagedWrites {
 public:
  StagedWrites(Instance& instance, WGPUDevice device, WGPUQueue queue);
  ~StagedWrites();
  StagedWrites(const StagedWrites&) = delete;
  StagedWrites& operator=(const StagedWrites&) = delete;

  // As wgpuQueueWriteBuffer: takes effect before what is submitted later, and the bytes are copied
  // before it returns. What goes wrong reaches the device's callbacks.
  void write(WGPUBuffer destination, uint64_t offset, std::span<const std::byte> bytes);

 private:
  static constexpr uint64_t kStageBytes = 4u << 20;
  static constexpr size_t kMostStages = 4;
  struct Stage {
    WGPUBuffer buffer = nullptr;
    Ticket mapped = 0;  // 0: since its creation
  };

  // One that is mapped, no longer in stages_. Waits where all of them are on their way.
  Stage take();

  Instance& instance_;
  const Functions& wgpu_;
  WGPUDevice device_;
  WGPUQueue queue_;
  std::deque<Stage> stages_;  // the one that was used longest ago at the front
};

}  // namespace puna::gpu::native
