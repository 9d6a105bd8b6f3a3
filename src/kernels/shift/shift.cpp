// GPU form of shift.h: four channels an invocation, rows along y.
#include "kernels/shift/shift.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 64;  // invocations

bool supported(const ShiftShape& s) {
  return s.n > 0 && s.n % 4 == 0 && s.mix_column % s.n == 0 && s.by_stride % 4 == 0 &&
         s.by_column % 4 == 0;
}

}  // namespace

base::Result<void> shift(const gpu::DeviceInfo&, const ShiftArgs& args,
                         std::vector<KernelCall>& out) {
  const ShiftShape& s = args.shape;
  if (!supported(s)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The token shift {} has {} columns; multiples of 4 are supported.", args.label,
                    s.n));
  }
  Describe call(args.label, "shift/shift.wgsl");
  call.constant("B_STEP", args.step).arena("B_X", args.x).constant("B_MIX", args.mix);
  call.arena("B_STATE", args.state).arena("B_Y", args.y);
  if (args.by) call.arena("B_BY", *args.by);
  call.number("UNITS", s.n / 4).number("MIX_UNIT", s.mix_column / 4);
  call.number("BY", args.by.has_value()).number("BY_STRIDE_UNITS", s.by_stride / 4);
  call.number("BY_UNIT", s.by_column / 4).number("KEEPS", s.keeps).number("WG", kWorkgroup);
  call.grid({Extent::kOne, div_up(s.n / 4, kWorkgroup), 1}, {Extent::kTokens});
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
