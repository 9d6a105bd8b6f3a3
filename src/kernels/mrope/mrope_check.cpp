// The self-test of rotary embeddings over several coordinates.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "kernels/mrope/mrope.h"
#include "kernels/mrope/mrope_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;
constexpr double kRopeLimit = 1e-7;

Result<void> mrope_on_gpu(gpu::Device& device, const MropeCpuArgs& args) {
  Workbench bench(device);
  const MropeShape& s = args.shape;
  const uint64_t n = uint64_t{args.n_rows} * s.row_stride();
  std::vector<SectionPair> pairs;
  PUNA_TRY(pairs, section_pairs(s));
  const std::vector<uint32_t> table = mrope_table(pairs);
  MropeArgs a{"mrope", {}, {}, {}, s};
  PUNA_TRY(a.table, bench.upload(table.data(), table.size()));
  PUNA_TRY(a.positions, bench.upload(args.positions, uint64_t{args.n_rows} * kSections));
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::mrope, a, args.y, n);
}

Result<void> mrope_on(Check& check, const MropeCpuArgs& args) {
  if (check.gpu()) return mrope_on_gpu(*check.gpu(), args);
  mrope_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_mrope(Check& check) {
  struct Case {
    std::string_view type;
    SectionOrder order;
    std::array<uint32_t, kSections> sections;
    uint32_t head_dim;
    uint32_t beside = 0;  // elements of a row that are no heads
  };
  // As Qwen2-VL, Qwen3-VL, encoders of images and a head of which a part is turned have them.
  for (const Case& c : {Case{"in turn", SectionOrder::kInTurn, {16, 24, 24, 0}, 128},
                        Case{"by threes", SectionOrder::kByThrees, {24, 20, 20, 0}, 128},
                        Case{"restart", SectionOrder::kRestart, {18, 18, 0, 0}, 72},
                        Case{"restart", SectionOrder::kRestart, {20, 20, 0, 0}, 80, 40},
                        Case{"dealt", SectionOrder::kDealt, {16, 16, 0, 0}, 64, 64},
                        Case{"in turn", SectionOrder::kInTurn, {3, 0, 5, 3}, 40}}) {
    if (!check.wanted("mrope", c.type)) continue;
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      MropeShape shape{{}, c.sections, c.order, c.head_dim, 3};
      if (c.beside > 0) shape.y_stride = 3 * c.head_dim + c.beside;
      shape.rope.pairs = pairs;
      shape.rope.n_rot = 2 * std::accumulate(c.sections.begin(), c.sections.end(), 0u);
      shape.rope.base = 1e6f;
      shape.rope.magnitude = 0.75f;
      const std::vector<int32_t> positions{0, 1, 2, 3, 100'000, 7, 40'000, 5, 9, 9, 9, 9};
      auto y = normal(size_t{kRows} * shape.row_stride(), 56), expected = y;
      PUNA_TRY(mrope_on(check, {positions.data(), y.data(), kRows, shape}));
      mrope_ref({positions.data(), expected.data(), kRows, shape});
      PUNA_TRY(check.record("mrope", c.type,
                            fmt::format("{} of {}, {}", shape.rope.n_rot, shape.head_dim,
                                        pairs == RopePairs::kNeox ? "neox" : "adjacent"),
                            nmse(y, expected), kRopeLimit));
    }
  }
  return {};
}

}  // namespace puna::kernels
