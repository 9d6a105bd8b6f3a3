// GPU form of unary.h: one template, the function by its name.
#include "kernels/elementwise/unary.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/row_grid.h"

namespace puna::kernels {

std::string_view name(Unary function) {
  static constexpr std::string_view kNames[] = {
      "abs",       "negate",   "sign",       "step_above",   "filled",     "bounded",
      "square",    "sqrt",     "exp",        "expm1",        "log",        "sine",
      "cosine",    "ceil",     "floor",      "rounded",      "trunc",      "relu",
      "elu",       "xielu",    "sigmoid",    "hard_sigmoid", "hard_swish", "silu",
      "gelu_tanh", "gelu_erf", "gelu_quick", "tanh_exact",   "softplus"};
  static_assert(std::size(kNames) == static_cast<size_t>(kLastUnary) + 1);
  return kNames[static_cast<size_t>(function)];
}

base::Result<void> unary(const gpu::DeviceInfo& device, const UnaryArgs& args,
                         std::vector<KernelCall>& out) {
  const UnaryShape& s = args.shape;
  for (const float value : s.with) {
    if (std::isfinite(value)) continue;
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Function {} of {} has a parameter of {}; it must be finite.",
                                  name(s.function), args.label, value));
  }
  Describe call(args.label, "elementwise/unary.wgsl");
  call.arena("B_Y", args.y).text("FUNCTION", std::string(name(s.function)));
  call.real("PARAM_A", s.with[0]).real("PARAM_B", s.with[1]);
  call.real("PARAM_C", s.with[2]).real("PARAM_D", s.with[3]);
  return describe_rows(std::move(call), device, s.n, args.rows, out);
}

}  // namespace puna::kernels
