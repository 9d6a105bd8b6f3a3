// Rotary positions of several coordinates a token (multi-section rope), in place: pair i of each
// head turns by positions[section of i] * its frequency.
//   y          [n_rows, y_stride]  f32, the first n_heads * head_dim of a row; elements of a head
//   from n_rot on stay
//   positions  [n_rows, 4]  i32, each at least 0: time, height, width and one more
// Text has the same position in all four, and then kInTurn and kByThrees are the rope of rope.h,
// which has these orders (SectionOrder).
// Sources: Qwen2-VL (Wang et al. 2024), section 2.1; kByThrees: Qwen3-VL's technical report.
#pragma once

#include <array>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/rope/rope.h"

namespace puna::kernels {

// kRestart: the frequencies of a section are base^(-k / size).
struct MropeShape {
  RopeParams rope = {};                           // without a temperature
  std::array<uint32_t, kSections> sections = {};  // pairs of each, n_rot / 2 together
  SectionOrder order = SectionOrder::kInTurn;
  uint32_t head_dim = 0;
  uint32_t n_heads = 1;
  uint32_t y_stride = 0;  // elements from row to row; 0 = n_heads * head_dim
  uint32_t row_stride() const { return y_stride != 0 ? y_stride : n_heads * head_dim; }
  bool operator==(const MropeShape&) const = default;
};

struct SectionPair {
  uint32_t section = 0;
  double frequency = 0;  // radians a position
};
// One for each pair. Errors: kInvalidArgument for an odd n_rot, one above head_dim, or sections
// that are not n_rot / 2 pairs together; kUnsupported for a temperature.
base::Result<std::vector<SectionPair>> section_pairs(const MropeShape& shape);

// For each pair the two words of rope_table(), its section and a zero.
std::vector<uint32_t> mrope_table(const std::vector<SectionPair>& pairs);

struct MropeArgs {
  std::string label;
  Slice table = {};
  Slice positions = {};
  Slice y = {};
  MropeShape shape = {};
  Rows rows = Rows::kTokens;
  bool positions_in_arena = false;  // kernels of the step may write their buffer
};
// Errors: of section_pairs(), and of rows longer than a dispatch.
base::Result<void> mrope(const gpu::DeviceInfo& device, const MropeArgs& args,
                         std::vector<KernelCall>& out);

struct MropeCpuArgs {
  const int32_t* positions = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  MropeShape shape = {};
};
// The shape must be one that section_pairs() takes.
void mrope_cpu(base::ThreadPool& pool, const MropeCpuArgs& args);

}  // namespace puna::kernels
