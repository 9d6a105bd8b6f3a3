// Where the time of a step goes, role by role ("ffn_down" of all layers together).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/ceiling/ceiling.h"
#include "plan/cpu_program.h"
#include "plan/gpu_program.h"

namespace puna::engine {

struct KernelTime {
  std::string role;    // the label without its layer: "ffn_down", "attn.combine"
  std::string kernel;  // GPU: the template, "matmul/matvec.wgsl"
  std::string type;    // of the weights, "q4_k"; empty where there are none
  uint32_t weight_rows = 0, weight_cols = 0;
  enum class Unit : uint8_t { kF32, kInt8, kMatrix } unit = Unit::kF32;  // what multiplies
  uint32_t dispatches = 0;                                               // of one step
  double us = 0;  // of all of them in one step: by themselves on a GPU, else within it
  // GPU: what the step is longer by because of them; none where steps are too long to be run again
  // for each role.
  std::optional<double> in_step_us = {};
  uint64_t bytes = 0;  // weights they read in one step
  double flops = 0;    // of their products in one step
};

struct StepTimes {
  std::vector<KernelTime> kernels;
  double step_us = 0;    // the whole step
  double encode_us = 0;  // of the host, to record and submit it; 0 on the CPU device
};

// How near a role is to what the device can do at most: the time that its weights at plain reads or
// its operations at peak arithmetic would take, whichever is longer, over the time it takes. Matrix
// units count by their reads alone, as their peak is not measured. 0 for roles without weights.
double fraction_of_ceiling(const KernelTime& time, const kernels::Ceilings& ceilings);

// The time that a plain read of all weights of the step would take over the time of the step.
double fraction_of_read(const StepTimes& times, const kernels::Ceilings& ceilings);

// GPU: each role's dispatches run alone, many times over, with the model's own weights, so that
// they come from memory as in a real step; and the step runs without them. The step buffer holds
// the step's positions already.
// Blocks; native devices only (kUnsupported in a page).
base::Result<StepTimes> time_kernels(gpu::Device& device, const plan::GpuProgram& program,
                                     const kernels::StepShape& shape);

// CPU: the ops of whole steps, each timed; logits [output_rows, vocab] are overwritten.
StepTimes time_kernels(plan::CpuProgram& program, const plan::Step& step,
                       const plan::CpuProgram::Pages& pages, std::span<float> logits);

}  // namespace puna::engine
