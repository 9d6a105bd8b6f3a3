#include "engine/batch_classes.h"

#include <algorithm>

#include "kernels/sample/sample.h"

namespace puna::engine {

std::vector<uint32_t> decode_classes(uint32_t max_batch) {
  std::vector<uint32_t> out = {1};
  while (out.back() < std::min(max_batch, kernels::kMaxBatch)) out.push_back(out.back() * 2);
  return out;
}

std::vector<uint32_t> prompt_classes(const GpuOptions& options, uint32_t step_rows,
                                     const gpu::DeviceInfo& device) {
  std::vector<uint32_t> out;
  const bool matrix = device.matrix.m != 0 && options.numerics == kernels::Numerics::kFast;
  if (options.short_prompts && !device.slow_compiler)
    out = matrix ? std::vector<uint32_t>{32, 128, 256} : std::vector<uint32_t>{64, 128};
  out.push_back(kernels::kMaxStepTokens);
  if (step_rows > out.back()) out.push_back(step_rows);
  return out;
}

}  // namespace puna::engine
