// Where a GpuProgram remembers texts: pages of the cache, snapshots of recurrent states; and
// reading them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"
#include "gpu/device.h"
#include "plan/gpu_program.h"

namespace puna::engine {

struct GpuRange {
  gpu::BufferId buffer;
  uint64_t offset = 0, bytes = 0;
};

// A page, in the order of Executor::read_page().
std::vector<GpuRange> page_ranges(const plan::GpuProgram& program, PagePlace page);
GpuRange saved_range(const plan::GpuProgram& program, uint32_t snapshot, size_t state);

// The first bytes of a kReadback buffer, once all that was submitted has run.
base::Task<base::Result<void>> read_back(gpu::Device& device, gpu::BufferId buffer,
                                         std::span<std::byte> out);
// The ranges, one after the other, by way of a kReadback buffer of `room` bytes, as often as it
// takes.
base::Task<base::Result<void>> read_ranges(gpu::Device& device, std::vector<GpuRange> ranges,
                                           gpu::BufferId readback, uint64_t room,
                                           std::span<std::byte> out);

}  // namespace puna::engine
