// Measuring a model: one phase at a time, as a job beside the texts that are written.
#pragma once

#include <atomic>
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
  uint32_t n_texts = 1;                                   // of time_step(): as many such rows
  kernels::SamplingParams sampling = {.temperature = 0};  // of a decode
  engine::ChooseOn where = engine::ChooseOn::kDevice;     // as well
  // Of time_phase(): looked at between steps; null: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
};

// What the device can do at most (of a model on two devices the GPU). Blocks.
base::Result<kernels::Ceilings> ceilings(LoadedModel& model);

// Milliseconds that the phase takes. What lies before it is evaluated first, once for all phases of
// that depth. Errors: kInvalidArgument for what is longer than the context; those of the engine;
// kCancelled.
base::Task<base::Result<double>> time_phase(LoadedModel& model, Phase phase);
// Several texts at once, through the scheduler: their prompts are evaluated, then all are answered.
struct Together {
  uint32_t n_texts = 1;
  uint32_t n_prompt = 128;  // tokens of each prompt
  uint32_t n_shared = 0;    // of these the same in all of them, from the beginning
  uint32_t n_answer = 64;   // tokens of each answer
  uint32_t salt = 0;        // prompts of another salt share nothing
  // Another text is written beside them, behind a filter that allows half of the vocabulary. It is
  // not counted, and ends with them.
  bool beside_filtered = false;
  kernels::SamplingParams sampling = {.temperature = 0};
};
struct TogetherTimes {
  double prompt_ms = 0;          // until each text has its first token
  uint32_t n_prompt_tokens = 0;  // evaluated in this time; fewer than asked for where texts share
  double answer_ms = 0;          // while all texts are written
  uint32_t n_answer_tokens = 0;  // chosen in this time
};
// Errors: kInvalidArgument for texts that do not fit the context; those of the engine.
base::Task<base::Result<TogetherTimes>> time_together(LoadedModel& model, Together what);

// Where the time of a step of phase.n_tokens of each text goes.
base::Task<base::Result<engine::StepTimes>> time_step(LoadedModel& model, Phase phase);

}  // namespace puna::service
