// An executor over two: the first layers on one, the rest on the other.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/executor.h"
#include "gpu/host_memory.h"

namespace puna::engine {

// What parts hand over lies in memory that their devices may share. There is room for steps of
// n_rows tokens: two that the first layers have begun, and one that the rest are still to copy.
struct Handed {
  // n: floats of a token. Errors: kOutOfMemory.
  static base::Result<Handed> allocate(uint32_t n, uint32_t n_rows);

  std::shared_ptr<gpu::HostMemory> memory;  // [kSteps, n_rows, n] f32
  uint32_t n = 0, n_rows = 0;
  static constexpr size_t kSteps = 3;
};

// `first` runs a graph that hands over, `rest` the graph that takes it.
std::unique_ptr<Executor> join(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest,
                               Handed handed);

}  // namespace puna::engine
