// What a part of a model, on a GPU of its own, takes of the part before it and gives to the next
// one: values [n_tokens, columns] f32, one behind the other. A device that shares memory with the
// host copies from and to where they lie; for others the host does, by write_buffer and read-backs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "engine/gpu_ranges.h"
#include "engine/ring_part.h"
#include "gpu/device.h"
#include "plan/gpu_program.h"

namespace puna::engine {

class GpuHandover {
 public:
  // Both outlive it. ends: null at the ends of the model. Errors: kOutOfMemory.
  static base::Result<std::unique_ptr<GpuHandover>> create(gpu::Device& device,
                                                           const plan::GpuProgram& program,
                                                           LinkEnds ends);
  ~GpuHandover();
  GpuHandover(const GpuHandover&) = delete;
  GpuHandover& operator=(const GpuHandover&) = delete;

  // Appends copies to the list, before the body of a step; false: `values` lie where the device
  // cannot read them. They stay as they are until the list has run.
  bool take(std::span<const float> values, uint32_t n_rows, gpu::CommandList& list) const;
  // Appends copies, behind the body of a step, and submits. The values are in `out` when it ends;
  // a step may be submitted before what the one before it gives is there.
  base::Task<base::Result<void>> give(std::span<float> out, uint32_t n_rows,
                                      gpu::CommandList& list);

 private:
  // Memory of the host as the device has it.
  struct Shared {
    std::shared_ptr<gpu::HostMemory> memory;
    gpu::BufferId buffer;  // 0: the device cannot share it

    // Where values lie in it.
    std::optional<uint64_t> offset_of(std::span<const float> values) const;
  };

  GpuHandover(gpu::Device& device, const plan::GpuProgram& program)
      : device_(device), program_(program) {}
  base::Result<Shared> share(std::shared_ptr<gpu::HostMemory> memory);

  gpu::Device& device_;
  const plan::GpuProgram& program_;
  Shared from_, to_;
  // In turn; where to_ is shared, of a word, which tells that a step has run.
  using RanWord = std::array<uint32_t, 1>;
  std::array<gpu::BufferId, 2> readbacks_;
  uint32_t n_giving_ = 0;  // steps that were submitted and have not run
};

}  // namespace puna::engine
