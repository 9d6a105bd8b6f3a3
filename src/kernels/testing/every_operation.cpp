#include "kernels/testing/every_operation.h"

#include "kernels/conv/own_conv.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/copy/copy.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/image/image.h"
#include "kernels/link/link.h"
#include "kernels/local_attention/local_attention.h"
#include "kernels/mrope/mrope.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rows/rows.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sort/sort.h"

namespace puna::kernels::test {
namespace {

using base::Result;
using Calls = std::vector<KernelCall>;

Result<void> elements(const gpu::DeviceInfo& device, uint32_t n, Calls& out) {
  for (int f = 0; f <= static_cast<int>(kLastUnary); ++f)
    PUNA_TRY(unary(device, {"unary", {}, {static_cast<Unary>(f), n, {-1, 1}}}, out));
  for (const Binary op : kBinaries) {
    for (const Spread spread : {Spread::kElements, Spread::kRow, Spread::kColumn, Spread::kOne}) {
      PUNA_TRY(binary(device, {"binary", {}, {}, {op, n, spread}, spread == Spread::kRow}, out));
    }
  }
  return {};
}

Result<void> rows_of(const gpu::DeviceInfo& device, uint32_t n, Calls& out) {
  for (const RowMove move : {RowMove::kTake, RowMove::kPut})
    PUNA_TRY(move_rows(device, {"rows", {}, {}, {}, {move, n, 100}}, out));
  for (const Reduction reduction : kReductions)
    PUNA_TRY(reduce(device, {"reduce", {}, {}, {reduction, n, 2}}, out));
  for (const bool descending : {false, true})
    PUNA_TRY(sort_indices(device, {"sort", {}, {}, {n, n / 2 + 1, descending}}, out));
  for (int options = 0; options < 16; ++options) {
    SoftmaxArgs args{"softmax", {}, {}, {}, {}, {n, 4, (options & 8) != 0, 0.125f}};
    if (options & 1) args.bias = Slice{};
    if (options & 2) args.slopes = Slice{};
    if (options & 4) args.sinks = Slice{};
    // Slopes are of a bias.
    if (args.bias || !args.slopes) PUNA_TRY(softmax(device, args, out));
  }
  return {};
}

Result<void> copies(const gpu::DeviceInfo& device, Calls& out) {
  for (CopyShape shape :
       {permuted({5, 7, 12}, {0, 2, 1}), permuted({4, 2, 6, 2, 12}, {0, 2, 1, 3, 4}),
        repeated(3, 2, 4, 5), joined(6, 3, 8, 2, 9), joined(6, 3, 2, 1, 9)}) {
    for (const Element x : {Element::kWord, Element::kHalf}) {
      for (const Element y : {Element::kWord, Element::kHalf}) {
        shape.x_type = x;
        shape.y_type = y;
        if (y == Element::kHalf && shape.y_strides.end()[-2] % 2 != 0) continue;
        PUNA_TRY(copy(device, {"copy", {}, {}, shape, {}}, out));
        PUNA_TRY(copy(device, {"copy", {}, {}, shape, Rows::kTokens}, out));
      }
    }
  }
  return {};
}

Result<void> images(const gpu::DeviceInfo& device, Calls& out) {
  for (const uint32_t inner : {1u, 8u}) {
    for (const bool align : {false, true}) {
      for (const Resize how : {Resize::kNearest, Resize::kLinear, Resize::kCubic}) {
        PUNA_TRY(resize(device, {"resize", {}, {}, {{3, 7, 5, inner, 9, 4}, how, align}}, out));
      }
    }
    for (const Pad how : {Pad::kValue, Pad::kEdge, Pad::kReflect, Pad::kWrap})
      PUNA_TRY(pad(device, {"pad", {}, {}, {{3, 7, 5, inner, 9, 6}, 1, 1, how, -0.5f}}, out));
  }
  for (const ImageLayout layout : {ImageLayout::kPlanes, ImageLayout::kPixels}) {
    for (const uint32_t n_channels : {3u, 4u}) {
      const Conv2dShape shape{1, n_channels, 9, 10, 3, 3, 2, 1, 1, 0, 1, 2, layout};
      PUNA_TRY(im2col(device, {"im2col", {}, {}, shape, 1, 4}, out));
      DepthwiseArgs args{"depthwise", {}, {}, {}, {}, shape};
      PUNA_TRY(depthwise(device, args, out));
      args.bias = Slice{};
      PUNA_TRY(depthwise(device, args, out));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<KernelCall>> every_operation(const gpu::DeviceInfo& device) {
  Calls out;
  for (const uint32_t n : {1u, 7u, 576u}) {
    PUNA_TRY(elements(device, n, out));
    PUNA_TRY(rows_of(device, n, out));
  }
  PUNA_TRY(copies(device, out));
  PUNA_TRY(images(device, out));
  for (const uint32_t n : {1u, 2u, kMaxHadamard})
    PUNA_TRY(hadamard(device, {"hadamard", {}, {n, 2}}, out));
  for (const RopePairs pairs : {RopePairs::kNeox, RopePairs::kAdjacent}) {
    MropeShape shape{{}, {4, 2, 2, 0}, SectionOrder::kByThrees, 20, 2};
    shape.rope.pairs = pairs;
    shape.rope.n_rot = 16;
    PUNA_TRY(mrope(device, {"mrope", {}, {}, {}, shape}, out));
    PUNA_TRY(mrope(device, {"mrope", {}, {}, {}, shape, Rows::kTokens, true}, out));
  }
  link_wait(device, {"link"}, out);
  link_stamp({"link"}, out);
  PUNA_TRY(own_conv(device, {"own_conv", {}, {}, {}, {}, {66, 5, 4}}, out));
  LocalAttentionArgs local;
  local.label = "local_attention";
  local.shape = {2, 128, 12, 32, 0.1f, 1.9f, 50};
  PUNA_TRY(local_attention(device, local, out));
  return out;
}

}  // namespace puna::kernels::test
