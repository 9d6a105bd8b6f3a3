// Rotary positions of several coordinates on the CPU. Turns are counted in f64 and the sines and
// cosines of a token computed once for all of its heads.
#include <cmath>
#include <functional>

#include "base/check.h"
#include "kernels/mrope/mrope.h"

namespace puna::kernels {
namespace {

struct Turn {
  float cos = 1, sin = 0;
};

void turn_head(const MropeShape& shape, const std::vector<Turn>& turns, float* head) {
  const bool neox = shape.rope.pairs == RopePairs::kNeox;
  for (size_t i = 0; i < turns.size(); ++i) {
    float& a = head[neox ? i : 2 * i];
    float& b = head[neox ? i + turns.size() : 2 * i + 1];
    const float a0 = a;
    a = a0 * turns[i].cos - b * turns[i].sin;
    b = b * turns[i].cos + a0 * turns[i].sin;
  }
}

}  // namespace

void mrope_cpu(base::ThreadPool& pool, const MropeCpuArgs& args) {
  const MropeShape& s = args.shape;
  const auto pairs = section_pairs(s);
  PUNA_CHECK(pairs.has_value());
  const double magnitude = double{s.rope.magnitude};
  const auto rows = [&](uint32_t begin, uint32_t end) {
    std::vector<Turn> turns(pairs->size());
    for (size_t r = begin; r < end; ++r) {
      for (size_t i = 0; i < turns.size(); ++i) {
        const SectionPair& pair = (*pairs)[i];
        const double angle = args.positions[r * kSections + pair.section] * pair.frequency;
        turns[i] = {static_cast<float>(magnitude * std::cos(angle)),
                    static_cast<float>(magnitude * std::sin(angle))};
      }
      for (uint32_t h = 0; h < s.n_heads; ++h)
        turn_head(s, turns, args.y + r * s.row_stride() + size_t{h} * s.head_dim);
    }
  };
  pool.run(args.n_rows, 8, std::ref(rows));
}

}  // namespace puna::kernels
