#include "engine/gpu_ranges.h"

#include <algorithm>
#include <utility>

namespace puna::engine {

using base::Result;
using base::Task;

std::vector<GpuRange> ranges_of(const plan::GpuProgram& program,
                                std::span<const plan::GpuPlan::Activation> values,
                                uint32_t n_rows) {
  std::vector<GpuRange> out;
  for (const plan::GpuPlan::Activation& value : values) {
    out.push_back({program.buffer(value.slice), value.slice.offset,
                   uint64_t{n_rows} * value.columns * sizeof(float)});
  }
  return out;
}

uint64_t gather(std::span<const GpuRange> from, gpu::BufferId to, uint64_t at,
                gpu::CommandList& list) {
  uint64_t n = 0;
  for (const GpuRange& range : from) {
    list.copy(range.buffer, range.offset, to, at + n, range.bytes);
    n += range.bytes;
  }
  return n;
}

uint64_t scatter(gpu::BufferId from, uint64_t at, std::span<const GpuRange> to,
                 gpu::CommandList& list) {
  uint64_t n = 0;
  for (const GpuRange& range : to) {
    list.copy(from, at + n, range.buffer, range.offset, range.bytes);
    n += range.bytes;
  }
  return n;
}

Task<Result<void>> read_back(gpu::Device& device, gpu::BufferId buffer, std::span<std::byte> out) {
  co_return co_await base::await_callback<Result<void>>(
      [&](gpu::ReadDone done) { device.read_back(buffer, 0, out, std::move(done)); });
}

Task<Result<void>> read_ranges(gpu::Device& device, std::vector<GpuRange> ranges,
                               gpu::BufferId readback, uint64_t room, std::span<std::byte> out) {
  gpu::CommandList list;
  uint64_t filled = 0;
  for (size_t i = 0; i < ranges.size();) {
    GpuRange& range = ranges[i];
    const uint64_t n = std::min(range.bytes, room - filled);
    list.copy(range.buffer, range.offset, readback, filled, n);
    filled += n;
    range.offset += n;
    range.bytes -= n;
    if (range.bytes == 0) ++i;
    if (filled < room && i < ranges.size()) continue;
    PUNA_CO_TRY(device.submit(list));
    list.clear();
    PUNA_CO_TRY(co_await read_back(device, readback, out.first(static_cast<size_t>(filled))));
    out = out.subspan(static_cast<size_t>(filled));
    filled = 0;
  }
  co_return {};
}

}  // namespace puna::engine
