// A part's place in a ring of GPUs that each have neighbouring layers of a model: what the part
// before it gives reaches it without the host, while both are at their steps (kernels/link/link.h).
// The first part takes the ids that the last one has chosen.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/gpu_ranges.h"
#include "engine/ring_part.h"
#include "gpu/device.h"
#include "kernels/link/link.h"

namespace puna::engine {

class GpuLink {
 public:
  // `device` outlives it. Errors: kUnsupported where the device cannot share memory.
  static base::Task<base::Result<std::unique_ptr<GpuLink>>> create(gpu::Device& device,
                                                                   LinkEnds ends);
  ~GpuLink();
  GpuLink(const GpuLink&) = delete;
  GpuLink& operator=(const GpuLink&) = delete;

  // Before the commands of a step are recorded; all parts count alike. What it takes is of this
  // step, or of the one before.
  enum class Takes : uint8_t { kOfThis, kOfBefore };
  base::Result<void> begin_step(Takes takes);
  // Appends to the list: waits for the part before this one, then copies what it gave, one range
  // behind the other.
  void take(std::span<const GpuRange> to, gpu::CommandList& list) const;
  // Copies what is given, and lets the next part know.
  void give(std::span<const GpuRange> from, gpu::CommandList& list) const;
  // The word that is 1 where a part of the ring has waited in vain.
  GpuRange failed() const;

 private:
  enum Buffer : uint32_t { kFrom, kTo, kState, kBuffers };
  struct Dispatch {
    gpu::PipelineId pipeline;
    gpu::BindGroupId group;
    uint32_t n_workgroups = 1;
  };

  explicit GpuLink(gpu::Device& device) : device_(device) {}
  base::Task<base::Result<void>> create_kernels();

  gpu::Device& device_;
  std::array<gpu::BufferId, kBuffers> buffers_;
  Dispatch wait_, stamp_;
  uint32_t n_steps_ = 0;
};

}  // namespace puna::engine
