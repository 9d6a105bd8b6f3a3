// What is measured of an engine, at the end of a sequence and beside nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/engine.h"
#include "kernels/ceiling/ceiling.h"

namespace puna::engine {

// Where a measured decode chooses its tokens: on the device, or on the host from logits that are
// read back after each step.
enum class ChooseOn : uint8_t { kDevice, kHost };

// n tokens of a text that is measured with, from position `first` on.
std::vector<int32_t> bench_text(const Engine& engine, uint32_t first, uint32_t n);

// Evaluates n tokens and chooses the next one. `cancel`: looked at between steps; null: nobody
// cancels. Errors: those of the engine; kCancelled.
base::Task<base::Result<void>> bench_prefill(Engine& engine, uint32_t sequence, uint32_t n_tokens,
                                             const std::atomic<bool>* cancel = nullptr);
// Decodes n tokens, and is cancelled likewise.
base::Task<base::Result<void>> bench_decode(Engine& engine, uint32_t sequence, uint32_t n_tokens,
                                            kernels::SamplingParams sampling, ChooseOn where,
                                            const std::atomic<bool>* cancel = nullptr);
// Where the time of a step of n_tokens of each of these sequences goes; they must be forgotten
// afterwards. Blocks while it measures.
base::Task<base::Result<StepTimes>> bench_step(Engine& engine, std::vector<uint32_t> sequences,
                                               uint32_t n_tokens, kernels::SamplingParams sampling);
// What the device can do at most (of a model on two devices the GPU). Blocks.
base::Result<kernels::Ceilings> bench_ceilings(Engine& engine);

}  // namespace puna::engine
