// Writes what changes from step to step into the buffers of a GpuProgram: tokens, positions,
// sequences and output rows (kernels/common/step.h), what an earlier part of the model hands over,
// and how the tokens after outputs are chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/executor.h"
#include "plan/gpu_program.h"

namespace puna::engine {

class GpuStepWriter {
 public:
  // Both outlive the writer. context: tokens of a sequence; n_out: columns of the logits.
  GpuStepWriter(gpu::Device& device, const plan::GpuProgram& program, uint32_t context,
                uint32_t n_out)
      : device_(device), program_(program), context_(context), n_out_(n_out) {}

  // What the grids of the step follow, with the sampling written last.
  kernels::StepShape shape_of(const plan::Step& step) const;

  // Errors of all: those of the device.
  // n_go_on: of how many outputs, the first ones, the device makes the next step.
  base::Result<void> step(const plan::Step& step, const kernels::StepShape& shape,
                          uint32_t n_go_on = 0);
  // The same without what an earlier part of the model hands over.
  base::Result<void> rows(const plan::Step& step, const kernels::StepShape& shape,
                          uint32_t n_go_on = 0);
  base::Result<void> outputs(std::span<const uint32_t> rows);
  // outputs: the first ones of the step, whose tokens the device chooses. In the history what
  // penalties look back on, then choices().
  base::Result<void> sampling(const plan::Step& step, std::span<const OutputSampling> outputs);
  // The parameters of each output, and what may be chosen.
  base::Result<void> choices(std::span<const OutputSampling> outputs);

 private:
  kernels::AttentionSplits splits_of(const plan::Step& step) const;
  uint32_t singles_of(const plan::Step& step) const;
  plan::AttentionLimits limits_of(const plan::Step& step) const;
  base::Result<void> words(uint32_t first, std::span<const uint32_t> words);
  base::Result<void> header(const plan::Step& step, const kernels::StepShape& shape,
                            uint32_t n_go_on);
  base::Result<void> inputs(const plan::Step& step);
  base::Result<void> places(const plan::Step& step);

  gpu::Device& device_;
  const plan::GpuProgram& program_;
  uint32_t context_;
  uint32_t n_out_;
  bool cuts_ = false;  // of the sampling written last
};

}  // namespace puna::engine
