// GPU forms of image.h.
#include "kernels/image/image.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/linear_grid.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kMaxSide = 16384;  // so that places, counted in halves of an output, fit 31 bits

base::Result<void> check(std::string_view label, const ImageShape& s) {
  if (s.x_elements() == 0 || s.y_elements() == 0) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Image {} goes from {}x{}x{}x{} to {}x{}; none can be 0.", label,
                                  s.n_outer, s.height, s.width, s.n_inner, s.out_h, s.out_w));
  }
  const uint32_t side = std::max({s.height, s.width, s.out_h, s.out_w});
  if (side > kMaxSide || s.x_elements() > UINT32_MAX) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Image {} has a side of {} (limit {}) and {} elements (limit "
                                  "{}).",
                                  label, side, kMaxSide, s.x_elements(), UINT32_MAX));
  }
  return {};
}

base::Result<void> describe(Describe call, const gpu::DeviceInfo& device, const ImageShape& s,
                            std::vector<KernelCall>& out) {
  call.number("HEIGHT", s.height).number("WIDTH", s.width);
  call.number("OUT_H", s.out_h).number("OUT_W", s.out_w);
  const bool vectors = s.n_inner % 4 == 0;
  call.number("VECTORS", vectors).number("INNER", vectors ? s.n_inner / 4 : s.n_inner);
  return describe_linear(std::move(call), device, s.y_elements() / (vectors ? 4 : 1),
                         s.y_elements(), out);
}

// Whether an axis of n has what kReflect or kWrap take for so many places before and after it.
bool has_enough(Pad how, uint32_t n, uint32_t before, uint32_t out) {
  const uint32_t most = std::max(before, out - n - before);
  return (how != Pad::kReflect || most < n) && (how != Pad::kWrap || most <= n);
}

}  // namespace

std::string_view name(Resize resize) {
  static constexpr std::string_view kNames[] = {"nearest", "linear", "cubic"};
  return kNames[static_cast<size_t>(resize)];
}
std::string_view name(Pad pad) {
  static constexpr std::string_view kNames[] = {"value", "edge", "reflect", "wrap"};
  return kNames[static_cast<size_t>(pad)];
}

base::Result<void> resize(const gpu::DeviceInfo& device, const ResizeArgs& args,
                          std::vector<KernelCall>& out) {
  PUNA_TRY(check(args.label, args.shape.image));
  Describe call(args.label, "image/resize.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y).number("ALIGN", args.shape.align_corners);
  call.number("NEAREST", args.shape.how == Resize::kNearest);
  call.number("CUBIC", args.shape.how == Resize::kCubic);
  return describe(std::move(call), device, args.shape.image, out);
}

base::Result<void> pad(const gpu::DeviceInfo& device, const PadArgs& args,
                       std::vector<KernelCall>& out) {
  const PadShape& p = args.shape;
  const ImageShape& s = p.image;
  PUNA_TRY(check(args.label, s));
  const bool fits = uint64_t{s.height} + p.top <= s.out_h && uint64_t{s.width} + p.left <= s.out_w;
  if (!fits || !has_enough(p.how, s.height, p.top, s.out_h) ||
      !has_enough(p.how, s.width, p.left, s.out_w) || !std::isfinite(p.value)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Padding {} puts {}x{} at {}, {} of {}x{}, by {} ({}); it must "
                                  "lie inside, reach no further than the image is large, and the "
                                  "value must be finite.",
                                  args.label, s.height, s.width, p.top, p.left, s.out_h, s.out_w,
                                  name(p.how), p.value));
  }
  Describe call(args.label, "image/pad.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y).number("TOP", p.top).number("LEFT", p.left);
  call.number("BY_VALUE", p.how == Pad::kValue).number("REFLECT", p.how == Pad::kReflect);
  call.number("WRAP", p.how == Pad::kWrap).real("VALUE", p.value);
  return describe(std::move(call), device, s, out);
}

}  // namespace puna::kernels
