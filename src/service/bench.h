// Measuring a model: one phase at a time, as a job beside the texts that are written.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/task.h"
#include "engine/bench/bench.h"
#include "service/model.h"

namespace puna::service {

struct Phase {
  enum class Kind : uint8_t { kPrefill, kDecode } kind = Kind::kPrefill;
  uint32_t n_tokens = 1;
  uint32_t depth = 0;                                     // tokens before them
  kernels::SamplingParams sampling = {.temperature = 0};  // of a decode
  engine::ChooseOn where = engine::ChooseOn::kDevice;     // as well
};

// What the device can do at most (of a model on two devices the GPU). Blocks.
base::Result<kernels::Ceilings> ceilings(LoadedModel& model);

// Milliseconds that the phase takes. What lies before it is evaluated first, once for all phases of
// that depth. Errors: kInvalidArgument for what is longer than the context; those of the engine.
base::Task<base::Result<double>> time_phase(LoadedModel& model, Phase phase);
// Where the time of a step of phase.n_tokens goes.
base::Task<base::Result<engine::StepTimes>> time_step(LoadedModel& model, Phase phase);

}  // namespace puna::service
