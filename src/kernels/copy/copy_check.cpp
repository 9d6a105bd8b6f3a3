// The self-test of copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "kernels/copy/copy.h"
#include "kernels/copy/copy_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

std::string join(const std::vector<uint32_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, "x"));
}

Result<void> copy_on_gpu(gpu::Device& device, const CopyCpuArgs& args) {
  Workbench bench(device);
  const CopyShape& s = args.shape;
  const auto words = [](Element type, uint64_t end) {
    return type == Element::kHalf ? (end + 1) / 2 : end;
  };
  const uint64_t n = words(s.y_type, s.y_end());
  CopyArgs a{"copy", {}, {}, s, {}};
  PUNA_TRY(a.x, bench.upload(static_cast<const uint32_t*>(args.x), words(s.x_type, s.x_end())));
  PUNA_TRY(a.y, bench.upload(static_cast<uint32_t*>(args.y), n));
  // Rows of a step where it can be, so that both forms of the grid are used.
  const bool by_rows = s.sizes.size() > 1 && s.sizes[0] <= 512;
  if (by_rows) a.rows = Rows::kTokens;
  return run_and_read(bench, by_rows ? s.sizes[0] : 1, kernels::copy, a,
                      static_cast<uint32_t*>(args.y), n);
}

Result<void> copy_on(Check& check, const CopyCpuArgs& args) {
  if (check.gpu()) return copy_on_gpu(*check.gpu(), args);
  copy_cpu(check.pool(), args);
  return {};
}

Result<void> copy(Check& check, std::string_view what, const CopyShape& shape) {
  if (!check.wanted("copy", what)) return {};
  // Room for words; read as halves they are any bits. Magnitudes reach beyond f16 at both ends.
  auto x = normal(shape.x_end(), 43, 0, 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(static_cast<float>(i % 47) - 29.0f);
  std::vector<float> y(static_cast<size_t>(shape.y_end()), 0.25f), expected = y;
  PUNA_TRY(copy_on(check, {x.data(), y.data(), shape}));
  copy_ref({x.data(), expected.data(), shape});
  return check.record("copy", what, join(shape.sizes), different(y, expected), 0);
}

}  // namespace

Result<void> check_copy(Check& check) {
  PUNA_TRY(copy(check, "contiguous", permuted({7, 130}, {0, 1})));
  PUNA_TRY(copy(check, "transposed", permuted({5, 33, 12}, {0, 2, 1})));
  PUNA_TRY(copy(check, "permuted", permuted({3, 5, 4, 16}, {2, 0, 1, 3})));
  // Two by two pixels become one of four times the channels, and channels become pixels.
  PUNA_TRY(copy(check, "pixels to channels", permuted({4, 2, 6, 2, 12}, {0, 2, 1, 3, 4})));
  PUNA_TRY(copy(check, "channels to pixels", permuted({3, 2, 2, 5, 7}, {0, 3, 1, 4, 2})));
  PUNA_TRY(copy(check, "repeated", repeated(5, 3, 7, 4)));
  PUNA_TRY(copy(check, "repeated", repeated(2, 1, 64, 6)));
  PUNA_TRY(copy(check, "part of joined rows", joined(6, 3, 8, 2, 9)));
  PUNA_TRY(copy(check, "part of joined rows", joined(600, 5, 1, 4, 11)));
  for (const uint32_t n : {6u, 130u}) {
    CopyShape shape = permuted({9, n}, {0, 1});
    shape.y_type = Element::kHalf;
    PUNA_TRY(copy(check, "f32 to f16", shape));
    std::swap(shape.x_type, shape.y_type);
    shape.x_offset = 1;
    PUNA_TRY(copy(check, "f16 to f32", shape));
  }
  CopyShape halves = permuted({8, 6, 4}, {2, 0, 1});
  halves.x_type = halves.y_type = Element::kHalf;
  return copy(check, "f16 permuted", halves);
}

}  // namespace puna::kernels
