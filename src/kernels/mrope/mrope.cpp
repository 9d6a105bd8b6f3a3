// GPU form of mrope.h: a pair an invocation, with the turns and the section of each pair in a
// table.
#include "kernels/mrope/mrope.h"

#include <algorithm>
#include <numeric>

#include "kernels/common/describe.h"
#include "kernels/rope/rope_call.h"

namespace puna::kernels {

base::Result<std::vector<SectionPair>> section_pairs(const MropeShape& shape) {
  const RopeParams& rope = shape.rope;
  const uint32_t n_pairs = rope.n_rot / 2;
  const uint64_t in_sections =
      std::accumulate(shape.sections.begin(), shape.sections.end(), uint64_t{0});
  if (rope.n_rot % 2 != 0 || rope.n_rot > shape.head_dim || in_sections != n_pairs) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format(
            "Sections of {} pairs cannot turn {} of {} elements; pairs must be half as many "
            "as elements turned.",
            fmt::join(shape.sections, ", "), rope.n_rot, shape.head_dim));
  }
  if (rope.temperature.beta != 0.0f) {
    return base::fail(base::ErrorCode::kUnsupported,
                      "A rope of several sections has no temperature.");
  }
  std::vector<SectionPair> pairs(n_pairs);
  const RopeSections sections{shape.sections, shape.order};
  uint32_t section = 0, first = 0;
  for (uint32_t i = 0; i < n_pairs; ++i) {
    while (i - first >= shape.sections[section]) first += shape.sections[section++];
    SectionPair& pair = pairs[i];
    pair.section = sections.of(i);
    if (shape.order == SectionOrder::kDealt) {
      const auto n = static_cast<uint32_t>(kSections - std::ranges::count(shape.sections, 0u));
      pair.frequency = rope_frequency(rope, nullptr, n * (i - first) + section);
    } else if (shape.order == SectionOrder::kRestart) {
      RopeParams own = rope;
      own.n_rot = 2 * shape.sections[section];
      pair.frequency = rope_frequency(own, nullptr, i - first);
    } else {
      pair.frequency = rope_frequency(rope, nullptr, i);
    }
  }
  return pairs;
}

std::vector<uint32_t> mrope_table(const std::vector<SectionPair>& pairs) {
  std::vector<uint32_t> table;
  table.reserve(pairs.size() * 4);
  for (const SectionPair& pair : pairs) {
    const TurnWords turns = turn_words(pair.frequency);
    table.insert(table.end(), {turns.upper, turns.lower, pair.section, 0});
  }
  return table;
}

base::Result<void> mrope(const gpu::DeviceInfo& device, const MropeArgs& args,
                         std::vector<KernelCall>& out) {
  const MropeShape& s = args.shape;
  constexpr uint32_t kWorkgroup = 128;  // invocations, one for each pair of a row
  PUNA_TRY(section_pairs(s));
  const uint64_t n_pairs = uint64_t{s.n_heads} * (s.rope.n_rot / 2);
  const uint64_t most = uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup;
  if (n_pairs == 0 || n_pairs > most) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Rope {} turns {} pairs of a row; it must be 1 to {}.",
                                  args.label, n_pairs, most));
  }
  const auto n = static_cast<uint32_t>(n_pairs);
  Describe call(args.label, "mrope/mrope.wgsl");
  call.constant("B_TABLE", args.table);
  if (args.positions_in_arena) {
    call.arena("B_POSITIONS", args.positions).text("POSITIONS_ACCESS", "read_write");
  } else {
    call.constant("B_POSITIONS", args.positions).text("POSITIONS_ACCESS", "read");
  }
  call.arena("B_Y", args.y)
      .number("Y_STRIDE", s.row_stride())
      .number("HEAD_DIM", s.head_dim)
      .number("N_HEADS", s.n_heads);
  call.number("N", n).number("WG", kWorkgroup);
  define_rope(call, s.rope);
  call.grid({Extent::kOne, div_up(n, kWorkgroup), 1}, {extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
