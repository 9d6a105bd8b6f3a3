// Where a GpuProgram remembers texts: pages of the cache, snapshots of recurrent states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executor.h"
#include "engine/gpu_ranges.h"
#include "plan/gpu_program.h"

namespace puna::engine {

// A page, in the order of Executor::read_page().
std::vector<GpuRange> page_ranges(const plan::GpuProgram& program, PagePlace page);
GpuRange saved_range(const plan::GpuProgram& program, uint32_t snapshot, size_t state);

}  // namespace puna::engine
