#include "engine/gpu_ring_part.h"

#include <cstddef>
#include <utility>

#include "engine/executor.h"
#include "engine/gpu_ranges.h"

namespace puna::engine {

using base::Result;
using base::Task;
using Part = plan::GpuProgram::Part;

namespace {

// Of the step, which is the next one where its tokens were chosen (sample/advance.wgsl).
std::array<GpuRange, 1> tokens(const plan::GpuProgram& program, uint32_t n_rows) {
  return {{{program.buffer(program.plan().step), kernels::kStepTokens * sizeof(uint32_t),
            n_rows * sizeof(uint32_t)}}};
}

}  // namespace

Task<Result<std::unique_ptr<GpuRingPart>>> GpuRingPart::create(gpu::Device& device,
                                                               const plan::GpuProgram& program,
                                                               GpuStepWriter& writer,
                                                               LinkEnds ends) {
  std::unique_ptr<GpuRingPart> out(new GpuRingPart(device, program, writer));
  PUNA_CO_TRY(out->link_, co_await GpuLink::create(device, std::move(ends)));
  if (!out->is_last()) co_return out;
  for (Choice& choice : out->choices_) {
    PUNA_CO_TRY(choice.readback, device.create_buffer(sizeof(choice.got), gpu::BufferUse::kReadback,
                                                      "ring read-back"));
  }
  co_return out;
}

GpuRingPart::~GpuRingPart() {
  for (const Choice& choice : choices_) {
    if (choice.readback.value != 0) device_.destroy_buffer(choice.readback);
  }
}

Result<void> GpuRingPart::begin_decode(const plan::Step& first,
                                       std::span<const OutputSampling> outputs) {
  return is_last() ? writer_.sampling(first, outputs) : Result<void>();
}

Result<void> GpuRingPart::begin_step(const plan::Step& step, bool follows) {
  const auto n_rows = static_cast<uint32_t>(step.output_rows.size());
  const kernels::StepShape shape = writer_.shape_of(step);
  n_followed_ = follows ? n_followed_ + 1 : 0;
  PUNA_TRY(link_->begin_step(is_first() ? GpuLink::Takes::kOfBefore : GpuLink::Takes::kOfThis));
  // The last part makes its steps itself.
  if (!is_last()) {
    PUNA_TRY(writer_.rows(step, shape));
  } else if (!follows) {
    PUNA_TRY(writer_.rows(step, shape, n_rows));
    PUNA_TRY(writer_.outputs(step.output_rows));
  }
  list_.clear();
  if (!is_first()) {
    link_->take(ranges_of(program_, program_.plan().inputs, n_rows), list_);
  } else if (follows) {
    link_->take(tokens(program_, n_rows), list_);
  }
  program_.record(Part::kBody, shape, list_);
  if (is_last()) {
    program_.record(Part::kHead, shape, list_);
    program_.record(Part::kSample, shape, list_);
    link_->give(tokens(program_, n_rows), list_);
    return read_choice(n_rows);
  }
  link_->give(ranges_of(program_, program_.plan().outputs, n_rows), list_);
  PUNA_TRY(device_.submit(list_));
  return {};
}

// Not the tokens of the next step: these are some token where none could be chosen.
Result<void> GpuRingPart::read_choice(uint32_t n_rows) {
  Choice& choice = choices_[n_begun_ % choices_.size()];
  choice.n_rows = n_rows;
  const GpuRange failed = link_->failed();
  const kernels::Slice& ids = program_.plan().ids;
  constexpr uint64_t kStepBytes = sizeof(choice.got.ids);
  list_.copy(program_.buffer(ids), ids.offset + n_followed_ % kernels::kChosenSteps * kStepBytes,
             choice.readback, offsetof(decltype(choice.got), ids), kStepBytes);
  list_.copy(failed.buffer, failed.offset, choice.readback, offsetof(decltype(choice.got), failed),
             failed.bytes);
  PUNA_TRY(device_.submit(list_));
  ++n_begun_;
  device_.read_back(choice.readback, 0, std::as_writable_bytes(std::span(&choice.got, 1)),
                    choice.read.callback());
  return {};
}

Task<Result<std::vector<kernels::Chosen>>> GpuRingPart::chosen() {
  Choice& choice = choices_[n_heard_++ % choices_.size()];
  PUNA_CO_TRY(co_await choice.read);
  if (choice.got.failed != 0) co_return std::vector<kernels::Chosen>();
  std::vector<kernels::Chosen> out(choice.n_rows);
  for (uint32_t r = 0; r < choice.n_rows; ++r) out[r].id = static_cast<int32_t>(choice.got.ids[r]);
  co_return out;
}

}  // namespace puna::engine
