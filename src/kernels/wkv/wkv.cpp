// GPU form of wkv.h: how a head's state is spread over invocations.
#include "kernels/wkv/wkv.h"

#include <algorithm>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kMostInvocations = 256;  // of a workgroup, which every device has
constexpr uint32_t kMaxLanes = 4;           // of one row of state
// Elements of tokens that are prepared at once: five vectors of them are 10 of the 16 KiB of
// workgroup memory that every device has.
constexpr uint32_t kBlockElements = 512;

bool supported(const WkvShape& s) {
  return s.n_heads > 0 && s.head_dim > 0 && s.head_dim % 4 == 0 && s.head_dim <= kMaxWkvHeadDim &&
         s.in_stride % 4 == 0 && s.in_stride >= s.n_parts() * s.n();
}

}  // namespace

base::Result<void> wkv(const gpu::DeviceInfo&, const WkvArgs& args, std::vector<KernelCall>& out) {
  const WkvShape& s = args.shape;
  if (!supported(s)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The recurrence {} has {} heads of {} elements; multiples of 4 up to {} are "
                    "supported.",
                    args.label, s.n_heads, s.head_dim, kMaxWkvHeadDim));
  }
  uint32_t lanes = 1;
  while (lanes < kMaxLanes && s.head_dim / 4 % (2 * lanes) == 0 &&
         s.head_dim * 2 * lanes <= kMostInvocations)
    lanes *= 2;

  Describe call(args.label, "wkv/wkv.wgsl");
  call.constant("B_STEP", args.step).arena("B_IN", args.in).arena("B_VALUES", args.values);
  call.constant("B_CONSTANTS", args.constants).arena("B_STATE", args.state).arena("B_Y", args.y);
  if (args.extra) call.arena("B_EXTRA", *args.extra);
  call.number("SEVEN", s.rule == WkvRule::kSeven).number("MIXES_VALUES", s.mixes_values);
  call.number("N_HEADS", s.n_heads).number("HEAD_DIM", s.head_dim);
  call.number("IN_UNITS", s.in_stride / 4).number("LANES", lanes);
  call.number("PER", s.head_dim / 4 / lanes);
  call.number("BLOCK", std::min(args.max_rows, std::max(1u, kBlockElements / s.head_dim)));
  call.real("LEAST_LENGTH", kWkvLeastLength).real("MOST_DECAY", kWkvMostDecay);
  call.grid({Extent::kOne, s.n_heads, 1}, {Extent::kTokens});
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
