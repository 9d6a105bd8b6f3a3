#include "engine/gpu_kept.h"

#include <algorithm>
#include <utility>

namespace puna::engine {

using base::Result;
using base::Task;

namespace {

// What the layers of one kind have of a page.
void add_ranges(const plan::GpuProgram& program, uint32_t page, bool of_windows,
                std::vector<GpuRange>& out) {
  const auto add = [&](const kernels::Slice& slice, const kernels::KvLayout& layout) {
    for (const auto& [offset, bytes] : layout.page(page)) {
      if (bytes > 0) out.push_back({program.buffer(slice), slice.offset + offset, bytes});
    }
  };
  for (const plan::GpuPlan::Kv& kv : program.plan().kv) {
    if (kv.by_window != of_windows) continue;
    add(kv.k, kv.layout);
    const bool v_in_k = kv.v.buffer == kv.k.buffer && kv.v.offset == kv.k.offset;
    if (!v_in_k) add(kv.v, kv.layout);
  }
}

}  // namespace

std::vector<GpuRange> page_ranges(const plan::GpuProgram& program, PagePlace page) {
  std::vector<GpuRange> out;
  add_ranges(program, page.all, /*of_windows=*/false, out);
  if (page.window) add_ranges(program, *page.window, /*of_windows=*/true, out);
  return out;
}

GpuRange saved_range(const plan::GpuProgram& program, uint32_t snapshot, size_t state) {
  const plan::GpuPlan::State& s = program.plan().states[state];
  return {program.buffer(s.saved), s.saved.offset + snapshot * s.slot_bytes, s.slot_bytes};
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
