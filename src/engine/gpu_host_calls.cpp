#include "engine/gpu_host_calls.h"

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "engine/gpu_ranges.h"

namespace puna::engine {

using base::Result;
using base::Task;
using Part = plan::GpuProgram::Part;

GpuHostCalls::~GpuHostCalls() {
  if (readback_.value != 0) device_.destroy_buffer(readback_);
}

Result<void> GpuHostCalls::create_readback() {
  PUNA_TRY(readback_, device_.create_buffer(gpu_.plan().host_read_bytes(),
                                            gpu::BufferUse::kReadback, "rows for the CPU"));
  return {};
}

Task<Result<void>> GpuHostCalls::run(const plan::GpuPlan::HostCall& call, uint32_t n_rows,
                                     gpu::CommandList& list) {
  const uint64_t bytes = gather(ranges_of(gpu_, call.x, n_rows), readback_, 0, list);
  PUNA_CO_TRY(device_.submit(list));
  x_.resize(static_cast<size_t>(bytes / sizeof(float)));
  PUNA_CO_TRY(co_await read_back(device_, readback_, std::as_writable_bytes(std::span<float>(x_))));
  y_.resize(size_t{n_rows} * call.y.columns);
  host_->run_op(call.index, n_rows, x_, y_);
  co_return device_.write_buffer(gpu_.buffer(call.y.slice), call.y.slice.offset,
                                 std::as_bytes(std::span<const float>(y_)));
}

void GpuHostCalls::add_times(const kernels::StepShape& shape, StepTimes& times) {
  constexpr int kTries = 5;
  KernelTime sum;
  sum.role = "experts on the CPU";
  for (const Part part : {Part::kBody, Part::kHead}) {
    const uint32_t n_rows = part == Part::kBody ? shape.n_tokens : shape.n_outputs;
    for (const plan::GpuPlan::HostCall& call : gpu_.host_calls(part, shape)) {
      x_.resize(static_cast<size_t>(call.x_bytes(n_rows) / sizeof(float)));
      // A prime step through as many values that differ.
      for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * 7919 % 1009) / 1009;
      y_.resize(size_t{n_rows} * call.y.columns);
      double best = 1e30;
      for (int i = 0; i < kTries; ++i) {
        const base::Timer timer;
        host_->run_op(call.index, n_rows, x_, y_);
        best = std::min(best, timer.ms() * 1000);
      }
      ++sum.dispatches;
      sum.us += best;
    }
  }
  times.step_us += sum.us;
  times.kernels.push_back(std::move(sum));
}

}  // namespace puna::engine
