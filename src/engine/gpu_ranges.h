// Ranges of a device's buffers: copying several of them to one place and back, and reading them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"
#include "plan/gpu_program.h"

namespace puna::engine {

struct GpuRange {
  gpu::BufferId buffer;
  uint64_t offset = 0, bytes = 0;
};

// Where the first rows of values lie.
std::vector<GpuRange> ranges_of(const plan::GpuProgram& program,
                                std::span<const plan::GpuPlan::Activation> values, uint32_t n_rows);

// Append copies to the list: of the ranges to a place in another buffer, one behind the other, and
// from there. Both give what lies there in bytes.
uint64_t gather(std::span<const GpuRange> from, gpu::BufferId to, uint64_t at,
                gpu::CommandList& list);
uint64_t scatter(gpu::BufferId from, uint64_t at, std::span<const GpuRange> to,
                 gpu::CommandList& list);

// The first bytes of a kReadback buffer, once all that was submitted has run.
base::Task<base::Result<void>> read_back(gpu::Device& device, gpu::BufferId buffer,
                                         std::span<std::byte> out);
// The ranges, one after the other, by way of a kReadback buffer of `room` bytes, as often as it
// takes.
base::Task<base::Result<void>> read_ranges(gpu::Device& device, std::vector<GpuRange> ranges,
                                           gpu::BufferId readback, uint64_t room,
                                           std::span<std::byte> out);

}  // namespace puna::engine
