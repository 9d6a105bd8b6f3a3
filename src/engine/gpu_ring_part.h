// A GPU's part of a ring: steps of its program between what it takes from the part before it and
// what it gives to the next one (gpu_link.h). The last part chooses tokens.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/later.h"
#include "engine/gpu_link.h"
#include "engine/gpu_step_writer.h"
#include "engine/ring_part.h"
#include "kernels/sample/sample.h"
#include "plan/gpu_program.h"

namespace puna::engine {

class GpuRingPart final : public RingPart {
 public:
  // All but the ends outlive it. Errors: those of GpuLink::create(); kOutOfMemory.
  static base::Task<base::Result<std::unique_ptr<GpuRingPart>>> create(
      gpu::Device& device, const plan::GpuProgram& program, GpuStepWriter& writer, LinkEnds ends);
  ~GpuRingPart() override;
  GpuRingPart(const GpuRingPart&) = delete;
  GpuRingPart& operator=(const GpuRingPart&) = delete;

  base::Result<void> begin_decode(const plan::Step& first,
                                  std::span<const OutputSampling> outputs) override;
  base::Result<void> begin_step(const plan::Step& step, bool follows) override;
  base::Task<base::Result<std::vector<kernels::Chosen>>> chosen() override;

 private:
  // What the last part has chosen in a step, on its way to the host.
  struct Choice {
    gpu::BufferId readback;
    struct {
      std::array<uint32_t, kernels::kMaxBatch> ids;
      uint32_t failed;
    } got = {};
    uint32_t n_rows = 0;
    base::Later<base::Result<void>> read;
  };

  GpuRingPart(gpu::Device& device, const plan::GpuProgram& program, GpuStepWriter& writer)
      : device_(device), program_(program), writer_(writer) {}
  bool is_first() const { return program_.plan().inputs.empty(); }
  bool is_last() const { return program_.plan().outputs.empty(); }
  base::Result<void> read_choice(uint32_t n_rows);

  gpu::Device& device_;
  const plan::GpuProgram& program_;
  GpuStepWriter& writer_;
  std::unique_ptr<GpuLink> link_;
  gpu::CommandList list_;
  std::array<Choice, kAhead> choices_;  // in turn
  uint64_t n_begun_ = 0, n_heard_ = 0;  // steps
  uint32_t n_followed_ = 0;             // steps since the host wrote one
};

}  // namespace puna::engine
