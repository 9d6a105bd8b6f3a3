// Parts of a model on GPUs of their own, linked in a ring: a step goes through them, and the next
// one begins, without the host between. What joins the parts (split_executor.h) drives them;
// gpu_ring_part.h is one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "gpu/host_memory.h"
#include "kernels/sample/chosen.h"
#include "plan/step.h"

namespace puna::engine {

struct OutputSampling;

// A page has one device, and no need for what several take.
#ifdef __EMSCRIPTEN__
constexpr bool kSeveralGpus = false;
#else
constexpr bool kSeveralGpus = true;
#endif

// Memory by which a part takes what the one before it gives, and gives to the next one.
struct LinkEnds {
  std::shared_ptr<gpu::HostMemory> from, to;
};

class RingPart {
 public:
  virtual ~RingPart() = default;

  // A decode whose tokens all are chosen by the last part's device: begin_decode(), then
  // begin_step() of all parts for each step, up to kAhead of them before the first is asked for by
  // chosen(). All that were begun are asked for before anything else is done.
  static constexpr uint32_t kAhead = 2;
  virtual base::Result<void> begin_decode(const plan::Step& first,
                                          std::span<const OutputSampling> outputs) = 0;
  // follows: its tokens are those that the step before it chooses; else they are in `step`.
  virtual base::Result<void> begin_step(const plan::Step& step, bool follows) = 0;
  // What the earliest step begun has chosen, one for each output; empty: a part has waited for the
  // one before it in vain, and so have the steps behind this one.
  virtual base::Task<base::Result<std::vector<kernels::Chosen>>> chosen() = 0;
};

}  // namespace puna::engine
