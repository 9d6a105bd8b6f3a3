#include "kernels/selftest/operations_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/conv2d/conv2d_ref.h"
#include "kernels/copy/copy_ref.h"
#include "kernels/elementwise/binary_ref.h"
#include "kernels/elementwise/unary_ref.h"
#include "kernels/hadamard/hadamard_ref.h"
#include "kernels/image/image_ref.h"
#include "kernels/mrope/mrope_ref.h"
#include "kernels/reduce/reduce_ref.h"
#include "kernels/rows/rows_ref.h"
#include "kernels/selftest/measure.h"
#include "kernels/softmax/softmax_ref.h"
#include "kernels/sort/sort_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr double kLimit = 1e-10;  // f32 arithmetic; docs/numerics.md
constexpr double kRopeLimit = 1e-7;
constexpr uint32_t kRows = 3;

// The share of words that differ: 0 when all are the same.
template <class T>
double different(const std::vector<T>& x, const std::vector<T>& reference) {
  size_t n = 0;
  for (size_t i = 0; i < reference.size(); ++i)
    n += std::bit_cast<uint32_t>(x[i]) != std::bit_cast<uint32_t>(reference[i]);
  return static_cast<double>(n) / static_cast<double>(reference.size());
}

std::string join(const std::vector<uint32_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, "x"));
}

// Numbers that the function is defined for, with its edges among them.
std::vector<float> arguments(Unary function, size_t n) {
  auto values = normal(n, 40, 0, 4);
  constexpr float kEdges[] = {0.0f, -0.5f, 0.5f, 1.5f, 2.5f, -2.5f, 1e-4f, -1e-4f, 3.0f, -3.0f};
  for (size_t i = 0; i < std::min(std::size(kEdges), n); ++i) values[i] = kEdges[i];
  if (function == Unary::kSqrt || function == Unary::kLog) {
    for (float& v : values) v = std::fabs(v) + 1e-3f;
  }
  return values;
}

}  // namespace

Result<void> OperationCases::run() {
  for (const auto role :
       {&OperationCases::unary, &OperationCases::binary, &OperationCases::copy,
        &OperationCases::move_rows, &OperationCases::reduce, &OperationCases::softmax,
        &OperationCases::sort, &OperationCases::convolutions, &OperationCases::images,
        &OperationCases::hadamard, &OperationCases::mrope}) {
    PUNA_TRY((this->*role)());
  }
  return {};
}

Result<void> OperationCases::unary() {
  for (int f = 0; f <= static_cast<int>(kLastUnary); ++f) {
    for (const uint32_t n : {1u, 33u, 576u}) PUNA_TRY(unary(static_cast<Unary>(f), n));
  }
  return {};
}
Result<void> OperationCases::unary(Unary function, uint32_t n) {
  if (!wanted_("unary", name(function))) return {};
  auto y = arguments(function, size_t{kRows} * n), expected = y;
  UnaryShape shape{function, n};
  if (function == Unary::kXielu) shape.with = {0.8f, 0.9f, 0.5f, -1e-6f};
  if (function == Unary::kClamp) shape.with = {-1.5f, 2.0f};
  if (function == Unary::kFill) shape.with = {7.5f};
  PUNA_TRY(device_.unary({y.data(), kRows, shape}));
  unary_ref({expected.data(), kRows, shape});
  return record_("unary", name(function), fmt::format("{} rows of {}", kRows, n), nmse(y, expected),
                 kLimit);
}

Result<void> OperationCases::binary() {
  for (const Binary op : kBinaries) {
    for (const Spread spread : {Spread::kElements, Spread::kRow, Spread::kColumn, Spread::kOne}) {
      for (const uint32_t n : {1u, 33u, 576u}) {
        if (!wanted_("binary", name(op))) continue;
        BinaryShape shape{op, n, spread};
        if (spread == Spread::kElements && n == 33) {
          shape.part = 1;
          shape.n_parts = 2;
        }
        const auto x = normal(size_t{kRows} * n * shape.n_parts, 41, 3, 0.5f);
        auto y = normal(size_t{kRows} * n, 42), expected = y;
        PUNA_TRY(device_.binary({x.data(), y.data(), kRows, shape}));
        binary_ref({x.data(), expected.data(), kRows, shape});
        PUNA_TRY(record_("binary", name(op),
                         fmt::format("{} rows of {} with {}", kRows, n, name(spread)),
                         nmse(y, expected), kLimit));
      }
    }
  }
  return {};
}

Result<void> OperationCases::copy() {
  PUNA_TRY(copy("contiguous", permuted({7, 130}, {0, 1})));
  PUNA_TRY(copy("transposed", permuted({5, 33, 12}, {0, 2, 1})));
  PUNA_TRY(copy("permuted", permuted({3, 5, 4, 16}, {2, 0, 1, 3})));
  // Two by two pixels become one of four times the channels, and channels become pixels.
  PUNA_TRY(copy("pixels to channels", permuted({4, 2, 6, 2, 12}, {0, 2, 1, 3, 4})));
  PUNA_TRY(copy("channels to pixels", permuted({3, 2, 2, 5, 7}, {0, 3, 1, 4, 2})));
  PUNA_TRY(copy("repeated", repeated(5, 3, 7, 4)));
  PUNA_TRY(copy("repeated", repeated(2, 1, 64, 6)));
  PUNA_TRY(copy("part of joined rows", joined(6, 3, 8, 2, 9)));
  PUNA_TRY(copy("part of joined rows", joined(600, 5, 1, 4, 11)));
  for (const uint32_t n : {6u, 130u}) {
    CopyShape shape = permuted({9, n}, {0, 1});
    shape.y_type = Element::kHalf;
    PUNA_TRY(copy("f32 to f16", shape));
    std::swap(shape.x_type, shape.y_type);
    shape.x_offset = 1;
    PUNA_TRY(copy("f16 to f32", shape));
  }
  CopyShape halves = permuted({8, 6, 4}, {2, 0, 1});
  halves.x_type = halves.y_type = Element::kHalf;
  return copy("f16 permuted", halves);
}
Result<void> OperationCases::copy(std::string_view what, const CopyShape& shape) {
  if (!wanted_("copy", what)) return {};
  // Room for words; read as halves they are any bits. Magnitudes reach beyond f16 at both ends.
  auto x = normal(shape.x_end(), 43, 0, 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(static_cast<float>(i % 47) - 29.0f);
  std::vector<float> y(static_cast<size_t>(shape.y_end()), 0.25f), expected = y;
  PUNA_TRY(device_.copy({x.data(), y.data(), shape}));
  copy_ref({x.data(), expected.data(), shape});
  return record_("copy", what, join(shape.sizes), different(y, expected), 0);
}

Result<void> OperationCases::move_rows() {
  for (const RowMove move : {RowMove::kTake, RowMove::kPut}) {
    for (const uint32_t n : {1u, 7u, 64u, 577u}) {
      const std::string_view type = move == RowMove::kTake ? "take" : "put";
      if (!wanted_("rows", type)) continue;
      const std::vector<int32_t> index = {9, 0, -1, 4, 10, 3};
      const auto x = normal(size_t{10} * n, 44);
      std::vector<float> y(size_t{10} * n, 0.5f), expected = y;
      const RowsShape shape{move, n, 10};
      PUNA_TRY(device_.move_rows({x.data(), index.data(), y.data(), 6, shape}));
      move_rows_ref({x.data(), index.data(), expected.data(), 6, shape});
      PUNA_TRY(
          record_("rows", type, fmt::format("6 of 10 rows of {}", n), different(y, expected), 0));
    }
  }
  return {};
}

Result<void> OperationCases::reduce() {
  for (const Reduction reduction : kReductions) {
    for (const uint32_t n : {1u, 33u, 576u, 9001u}) {
      if (!wanted_("reduce", name(reduction))) continue;
      const ReduceShape shape{reduction, n, 2};
      auto x = normal(size_t{kRows} * 2 * n, 45, 0.5f);
      x[n / 2] = x[n - 1] = 50;  // equal, and the largest
      x[n] = NAN;                // not the largest of the second row
      if (reduction != Reduction::kArgmax) x[n] = 1;
      std::vector<float> y(size_t{kRows} * 2 * shape.y_columns()), expected = y;
      PUNA_TRY(device_.reduce({x.data(), y.data(), kRows, shape}));
      reduce_ref({x.data(), expected.data(), kRows, shape});
      const bool exact = reduction == Reduction::kArgmax;
      PUNA_TRY(record_("reduce", name(reduction), fmt::format("{} rows of 2x{}", kRows, n),
                       exact ? different(y, expected) : nmse(y, expected), exact ? 0 : kLimit));
    }
  }
  return {};
}

Result<void> OperationCases::softmax() {
  for (const int options : {0, 1, 2, 3, 5, 7, 9, 11, 15}) {
    for (const uint32_t n : {1u, 33u, 1500u}) {
      const bool bias = (options & 1) != 0, sinks = (options & 2) != 0;
      const bool slopes = (options & 4) != 0, by_head = (options & 8) != 0;
      const std::string type =
          fmt::format("{}{}{}{}", bias ? "bias" : "plain", by_head ? " by head" : "",
                      slopes ? " slopes" : "", sinks ? " sinks" : "");
      if (!wanted_("softmax", type)) continue;
      const SoftmaxShape shape{n, 4, by_head, 0.125f};
      const size_t n_all = size_t{kRows} * 4 * n;
      auto y = normal(n_all, 46, 0, 40), expected = y;
      auto biases = normal(n_all, 47, 0, 3);
      for (size_t i = 0; i < n_all; i += 3) biases[i] = -std::numeric_limits<float>::infinity();
      // A row of which nothing is left.
      std::fill_n(biases.begin(), n, -std::numeric_limits<float>::infinity());
      const std::vector<float> four = {0.5f, 0.25f, 1, 2};
      const auto args = [&](float* to) {
        return SoftmaxCpuArgs{to,
                              bias ? biases.data() : nullptr,
                              slopes ? four.data() : nullptr,
                              sinks ? four.data() : nullptr,
                              kRows,
                              shape};
      };
      PUNA_TRY(device_.softmax(args(y.data())));
      softmax_ref(args(expected.data()));
      PUNA_TRY(record_("softmax", type, fmt::format("{} rows of 4x{}", kRows, n), nmse(y, expected),
                       kLimit));
    }
  }
  return {};
}

Result<void> OperationCases::sort() {
  for (const bool descending : {false, true}) {
    for (const uint32_t n : {1u, 64u, 1000u}) {
      for (const uint32_t k : {1u, std::min(n, 40u), n}) {
        const std::string_view type = descending ? "descending" : "ascending";
        if (!wanted_("sort", type)) continue;
        auto x = normal(size_t{kRows} * n, 48);
        for (float& v : x) v = std::round(v * 20) / 20;  // many equal ones, and both zeros
        if (n > 4) {
          x[1] = NAN;
          x[2] = INFINITY;
          x[3] = -INFINITY;
        }
        std::vector<uint32_t> y(size_t{kRows} * k, ~0u), expected = y;
        const SortShape shape{n, k, descending};
        PUNA_TRY(device_.sort_indices({x.data(), y.data(), kRows, shape}));
        sort_indices_ref({x.data(), expected.data(), kRows, shape});
        PUNA_TRY(record_("sort", type, fmt::format("{} of {}, {} rows", k, n, kRows),
                         different(y, expected), 0));
      }
    }
  }
  return {};
}

Result<void> OperationCases::convolutions() {
  const Conv2dShape patches{.n_images = 2,
                            .n_channels = 3,
                            .height = 28,
                            .width = 42,
                            .kernel_h = 14,
                            .kernel_w = 14,
                            .stride_h = 14,
                            .stride_w = 14};
  PUNA_TRY(im2col("patches", patches));
  Conv2dShape general{.n_images = 2,
                      .n_channels = 5,
                      .height = 9,
                      .width = 11,
                      .kernel_h = 3,
                      .kernel_w = 2,
                      .stride_w = 2,
                      .pad_h = 2,
                      .pad_w = 1,
                      .dilation_h = 2,
                      .dilation_w = 3};
  Conv2dShape mel{.n_channels = 80, .width = 50, .kernel_w = 3, .pad_w = 1};
  for (const ImageLayout layout : {ImageLayout::kPlanes, ImageLayout::kPixels}) {
    general.layout = mel.layout = layout;
    PUNA_TRY(im2col("strides, dilations", general));
    PUNA_TRY(im2col("1d", mel));
    PUNA_TRY(depthwise("strides, dilations", general));
    PUNA_TRY(depthwise("1d", mel));
  }
  mel.stride_w = 2;
  return im2col("1d", mel);
}
Result<void> OperationCases::im2col(std::string_view what, const Conv2dShape& shape) {
  if (!wanted_("im2col", what)) return {};
  const auto x = normal(shape.x_elements(), 49);
  const uint32_t first = shape.rows() / 3, n_rows = shape.rows() - first - 1;
  std::vector<float> y(size_t{n_rows} * shape.columns()), expected = y;
  PUNA_TRY(device_.im2col({x.data(), nullptr, nullptr, y.data(), shape, first, n_rows}));
  im2col_ref({x.data(), nullptr, nullptr, expected.data(), shape, first, n_rows});
  return record_(
      "im2col", what,
      fmt::format("{}, {} rows of {}", shape.layout == ImageLayout::kPlanes ? "planes" : "pixels",
                  n_rows, shape.columns()),
      different(y, expected), 0);
}
Result<void> OperationCases::depthwise(std::string_view what, const Conv2dShape& shape) {
  if (!wanted_("depthwise", what)) return {};
  const auto x = normal(shape.x_elements(), 50), weights = normal(shape.columns(), 51);
  const auto bias = normal(shape.n_channels, 52);
  for (const float* shift : {static_cast<const float*>(nullptr), bias.data()}) {
    std::vector<float> y(static_cast<size_t>(shape.y_elements())), expected = y;
    PUNA_TRY(device_.depthwise({x.data(), weights.data(), shift, y.data(), shape, 0, 0}));
    depthwise_ref({x.data(), weights.data(), shift, expected.data(), shape, 0, 0});
    PUNA_TRY(record_("depthwise", what,
                     fmt::format("{}{}", shape.layout == ImageLayout::kPlanes ? "planes" : "pixels",
                                 shift ? ", bias" : ""),
                     nmse(y, expected), kLimit));
  }
  return {};
}

Result<void> OperationCases::images() {
  for (const Resize how : {Resize::kNearest, Resize::kLinear, Resize::kCubic}) {
    for (const bool align : {false, true}) {
      PUNA_TRY(resize({{3, 7, 5, 1, 16, 13}, how, align}));
      PUNA_TRY(resize({{2, 24, 24, 8, 16, 40}, how, align}));
      PUNA_TRY(resize({{1, 1, 9, 5, 1, 4}, how, align}));
    }
  }
  for (const Pad how : {Pad::kValue, Pad::kEdge, Pad::kReflect, Pad::kWrap}) {
    PUNA_TRY(pad({{3, 7, 5, 1, 12, 11}, 3, 2, how, -1.5f}));
    PUNA_TRY(pad({{2, 6, 4, 8, 7, 8}, 0, 3, how, 0.0f}));
  }
  return {};
}
Result<void> OperationCases::resize(const ResizeShape& shape) {
  if (!wanted_("resize", name(shape.how))) return {};
  const ImageShape& s = shape.image;
  const auto x = normal(s.x_elements(), 53);
  std::vector<float> y(static_cast<size_t>(s.y_elements())), expected = y;
  PUNA_TRY(device_.resize({x.data(), y.data(), shape}));
  resize_ref({x.data(), expected.data(), shape});
  return record_("resize", name(shape.how),
                 fmt::format("{}x{}x{}x{} to {}x{}{}", s.n_outer, s.height, s.width, s.n_inner,
                             s.out_h, s.out_w, shape.align_corners ? ", corners" : ""),
                 nmse(y, expected), kLimit);
}
Result<void> OperationCases::pad(const PadShape& shape) {
  if (!wanted_("pad", name(shape.how))) return {};
  const ImageShape& s = shape.image;
  const auto x = normal(s.x_elements(), 54);
  std::vector<float> y(static_cast<size_t>(s.y_elements())), expected = y;
  PUNA_TRY(device_.pad({x.data(), y.data(), shape}));
  pad_ref({x.data(), expected.data(), shape});
  return record_("pad", name(shape.how),
                 fmt::format("{}x{}x{}x{} to {}x{}", s.n_outer, s.height, s.width, s.n_inner,
                             s.out_h, s.out_w),
                 different(y, expected), 0);
}

Result<void> OperationCases::hadamard() {
  for (const uint32_t n : {1u, 2u, 64u, 128u, 4096u}) {
    if (!wanted_("hadamard", "f32")) continue;
    auto y = normal(size_t{2} * 2 * n, 55), expected = y;
    PUNA_TRY(device_.hadamard({y.data(), 2, {n, 2}}));
    hadamard_ref({expected.data(), 2, {n, 2}});
    PUNA_TRY(
        record_("hadamard", "f32", fmt::format("2 rows of 2x{}", n), nmse(y, expected), kLimit));
  }
  return {};
}

Result<void> OperationCases::mrope() {
  struct Case {
    std::string_view type;
    SectionOrder order;
    std::array<uint32_t, kSections> sections;
    uint32_t head_dim;
  };
  // As Qwen2-VL, Qwen3-VL, an image encoder and a head of which a part is turned have them.
  for (const Case& c : {Case{"in turn", SectionOrder::kInTurn, {16, 24, 24, 0}, 128},
                        Case{"by threes", SectionOrder::kByThrees, {24, 20, 20, 0}, 128},
                        Case{"restart", SectionOrder::kRestart, {18, 18, 0, 0}, 72},
                        Case{"in turn", SectionOrder::kInTurn, {3, 0, 5, 3}, 40}}) {
    if (!wanted_("mrope", c.type)) continue;
    for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
      MropeShape shape{{}, c.sections, c.order, c.head_dim, 3};
      shape.rope.pairs = pairs;
      shape.rope.n_rot = 2 * std::accumulate(c.sections.begin(), c.sections.end(), 0u);
      shape.rope.base = 1e6f;
      shape.rope.magnitude = 0.75f;
      const std::vector<int32_t> positions{0, 1, 2, 3, 100'000, 7, 40'000, 5, 9, 9, 9, 9};
      auto y = normal(size_t{kRows} * shape.n_heads * shape.head_dim, 56), expected = y;
      PUNA_TRY(device_.mrope({positions.data(), y.data(), kRows, shape}));
      mrope_ref({positions.data(), expected.data(), kRows, shape});
      PUNA_TRY(record_("mrope", c.type,
                       fmt::format("{} of {}, {}", shape.rope.n_rot, shape.head_dim,
                                   pairs == RopePairs::kNeox ? "neox" : "adjacent"),
                       nmse(y, expected), kRopeLimit));
    }
  }
  return {};
}

}  // namespace puna::kernels
