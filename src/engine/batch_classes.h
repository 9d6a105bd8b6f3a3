// How many rows the batch classes of a GPU's plan have. Internal to engine/.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/executor.h"

namespace puna::engine {

// Of the classes of texts that are written: one, and powers of two up to the batch.
std::vector<uint32_t> decode_classes(uint32_t max_batch);

// Of those of prompts, the last of which has a whole step. In the tiles that suit that few rows
// take nearly as long as all of them; docs/decisions/short-prompts.md has what each other is for.
std::vector<uint32_t> prompt_classes(const GpuOptions& options, uint32_t step_rows,
                                     const gpu::DeviceInfo& device);

}  // namespace puna::engine
