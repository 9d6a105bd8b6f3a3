#include "engine/gpu_kept.h"

namespace puna::engine {

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

}  // namespace puna::engine
