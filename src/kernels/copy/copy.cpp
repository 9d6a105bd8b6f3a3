// Shapes and the GPU form of copy.h. Words that lie in fours on both sides are copied as vec4.
#include "kernels/copy/copy.h"

#include <algorithm>

#include "kernels/common/linear_grid.h"

namespace puna::kernels {
namespace {

std::vector<uint32_t> packed_strides(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

uint64_t end_of(const CopyShape& shape, const std::vector<uint32_t>& strides, uint32_t offset) {
  if (shape.elements() == 0) return 0;
  uint64_t end = uint64_t{offset} + 1;
  for (size_t d = 0; d < shape.sizes.size(); ++d) end += uint64_t{shape.sizes[d] - 1} * strides[d];
  return end;
}

// Whether a view comes in whole pieces of `piece` elements.
bool in_pieces(const CopyShape& shape, const std::vector<uint32_t>& strides, uint32_t offset,
               uint32_t piece) {
  if (shape.sizes.back() % piece != 0 || strides.back() != 1 || offset % piece != 0) return false;
  return std::all_of(strides.begin(), strides.end() - 1,
                     [&](uint32_t stride) { return stride % piece == 0; });
}

base::Result<void> check(const CopyArgs& args) {
  const CopyShape& s = args.shape;
  const size_t n = s.sizes.size();
  if (n == 0 || n > kCopyDims || s.x_strides.size() != n || s.y_strides.size() != n) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Copy {} has {} sizes and {} and {} strides; it must have as many, 1 to {}.",
                    args.label, n, s.x_strides.size(), s.y_strides.size(), kCopyDims));
  }
  if (s.elements() == 0 || (args.rows && n == 1)) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Copy {} has no elements{}.", args.label, args.rows ? " a row" : ""));
  }
  if (s.y_type == Element::kHalf && !in_pieces(s, s.y_strides, s.y_offset, 2)) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Copy {} writes f16 in rows of {} elements at steps of {}; they "
                                  "must be whole words.",
                                  args.label, s.sizes.back(), s.y_strides.back()));
  }
  return {};
}

}  // namespace

uint64_t CopyShape::elements() const {
  uint64_t n = sizes.empty() ? 0 : 1;
  for (const uint32_t size : sizes) n *= size;
  return n;
}
uint64_t CopyShape::x_end() const { return end_of(*this, x_strides, x_offset); }
uint64_t CopyShape::y_end() const { return end_of(*this, y_strides, y_offset); }

CopyShape permuted(const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& axes) {
  const std::vector<uint32_t> strides = packed_strides(sizes);
  CopyShape shape;
  for (const uint32_t axis : axes) {
    shape.sizes.push_back(sizes[axis]);
    shape.x_strides.push_back(strides[axis]);
  }
  shape.y_strides = packed_strides(shape.sizes);
  return shape;
}

CopyShape repeated(uint32_t outer, uint32_t n, uint32_t inner, uint32_t times) {
  CopyShape shape;
  shape.sizes = {outer, times, n, inner};
  shape.x_strides = {n * inner, 0, inner, 1};
  shape.y_strides = packed_strides(shape.sizes);
  return shape;
}

CopyShape joined(uint32_t outer, uint32_t n, uint32_t inner, uint32_t first, uint32_t n_joined) {
  CopyShape shape;
  shape.sizes = {outer, n * inner};
  shape.x_strides = {n * inner, 1};
  shape.y_strides = {n_joined * inner, 1};
  shape.y_offset = first * inner;
  return shape;
}

base::Result<void> copy(const gpu::DeviceInfo& device, const CopyArgs& args,
                        std::vector<KernelCall>& out) {
  PUNA_TRY(check(args));
  const CopyShape& s = args.shape;
  const bool words = s.x_type == Element::kWord && s.y_type == Element::kWord;
  const bool vectors =
      words && in_pieces(s, s.x_strides, s.x_offset, 4) && in_pieces(s, s.y_strides, s.y_offset, 4);
  // Elements of a unit, and elements of y that one stored value is.
  const uint32_t unit = vectors ? 4 : s.y_type == Element::kHalf ? 2 : 1;
  const uint32_t x_unit = vectors ? 4 : 1;
  Describe call(args.label, "copy/copy.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y).number("VECTORS", vectors);
  call.number("X_HALVES", s.x_type == Element::kHalf)
      .number("Y_HALVES", s.y_type == Element::kHalf);
  call.number("X_OFFSET", s.x_offset / x_unit).number("Y_OFFSET", s.y_offset / unit);
  // The template counts axes from the innermost, which counts units.
  const size_t n = s.sizes.size();
  const size_t n_axes = n - (args.rows ? 1 : 0);
  for (size_t axis = 0; axis < n_axes; ++axis) {
    const size_t d = n - 1 - axis;
    const uint64_t x_stride = axis == 0 ? uint64_t{s.x_strides[d]} * unit : s.x_strides[d];
    call.number(fmt::format("SIZE_{}", axis), s.sizes[d] / (axis == 0 ? unit : 1));
    call.number(fmt::format("X_STRIDE_{}", axis), x_stride / x_unit);
    call.number(fmt::format("Y_STRIDE_{}", axis),
                axis == 0 ? s.y_strides[d] : s.y_strides[d] / unit);
  }
  call.number("AXES", n_axes).number("X_STEP", s.x_strides.back());
  if (args.rows) {
    call.number("X_ROW", s.x_strides[0] / x_unit).number("Y_ROW", s.y_strides[0] / unit);
  }
  const uint64_t units = s.elements() / unit / (args.rows ? s.sizes[0] : 1);
  return describe_linear(std::move(call), device, units, std::max(s.x_end(), s.y_end()), out,
                         args.rows ? GridDim{extent_of(*args.rows)} : GridDim{});
}

}  // namespace puna::kernels
