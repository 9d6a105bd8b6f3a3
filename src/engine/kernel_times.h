// Where the time of a step goes, role by role ("ffn_down" of all layers together).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cpu_program.h"
#include "plan/gpu_program.h"

namespace puna::engine {

struct KernelTime {
  std::string role;         // the label without its layer: "ffn_down", "attn.combine"
  std::string kernel;       // GPU: the template, "matmul/matvec.wgsl"
  uint32_t dispatches = 0;  // of one step
  double us = 0;            // of all of them in one step
  uint64_t bytes = 0;       // weights they read in one step
  double flops = 0;         // of their products in one step
};

struct StepTimes {
  std::vector<KernelTime> kernels;
  double step_us = 0;    // the whole step
  double encode_us = 0;  // of the host, to record and submit it; 0 on the CPU device
};

// GPU: each role's dispatches run alone, many times over, with the model's own weights, so that
// they come from memory as in a real step. The step buffer holds the step's positions already.
// Blocks; native devices only (kUnsupported in a page).
base::Result<StepTimes> time_kernels(gpu::Device& device, const plan::GpuProgram& program,
                                     const kernels::StepShape& shape);

// CPU: the ops of whole steps, each timed; logits [output_rows, vocab] are overwritten.
StepTimes time_kernels(plan::CpuProgram& program, const plan::Step& step,
                       std::span<const uint32_t> pages, std::span<float> logits);

}  // namespace puna::engine
