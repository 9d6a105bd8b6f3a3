// GPU form of scan.h: how the states of channels are spread over invocations.
#include "kernels/scan/scan.h"

#include <algorithm>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 128;  // invocations, about
constexpr uint32_t kMaxLanes = 8;     // of one channel
constexpr uint32_t kMaxState = 256;   // of a channel; an invocation then holds 8 vec4, and their a
constexpr uint32_t kMaxBlock = 16;    // tokens between barriers; the shares take 8 KiB

}  // namespace

base::Result<void> scan(const gpu::DeviceInfo&, const ScanArgs& args,
                        std::vector<KernelCall>& out) {
  const ScanShape& s = args.shape;
  if (s.n_channels == 0 || s.n_state == 0 || s.n_state % 4 != 0 || s.n_state > kMaxState) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("The scan {} has {} channels with {} states; states must be a "
                                  "multiple of 4, at most {}.",
                                  args.label, s.n_channels, s.n_state, kMaxState));
  }
  uint32_t lanes = 1;
  while (lanes < kMaxLanes && s.n_state / 4 % (2 * lanes) == 0) lanes *= 2;
  const uint32_t channels_each = std::min(s.n_channels, kWorkgroup / lanes);

  Describe call(args.label, "scan/scan.wgsl");
  call.constant("B_STEP", args.step).arena("B_X", args.x).arena("B_DT", args.dt);
  call.arena("B_BC", args.bc).arena("B_IN", args.in).constant("B_CONSTANTS", args.constants);
  call.arena("B_STATE", args.state).arena("B_Y", args.y);
  call.number("N_CHANNELS", s.n_channels).number("N_STATE", s.n_state);
  call.number("IN_STRIDE", s.in_stride).number("Z_COLUMN", s.z_column);
  call.number("LANES", lanes).number("CHANNELS_EACH", channels_each);
  call.number("PER", s.n_state / 4 / lanes).number("BLOCK", std::min(args.max_rows, kMaxBlock));
  call.grid({Extent::kOne, div_up(s.n_channels, channels_each), 1}, {Extent::kTokens});
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
