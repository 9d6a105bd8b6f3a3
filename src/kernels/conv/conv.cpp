// GPU form of conv.h: whole runs at once for small classes, rows apart and then the state for
// chunks.
#include "kernels/conv/conv.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 64;        // invocations, a channel each
constexpr uint32_t kMaxWholeRunRows = 16;  // classes up to this many rows walk over runs

enum class Part : uint8_t { kWholeRun, kOneRow, kStateOnly };

KernelCall describe(const ConvArgs& args, Part part) {
  const ConvShape& s = args.shape;
  const bool moves_state_only = part == Part::kStateOnly;
  Describe call(moves_state_only ? args.label + ".state" : args.label, "conv/conv.wgsl");
  call.constant("B_STEP", args.step).arena("B_X", args.x).arena("B_STATE", args.state);
  if (!moves_state_only) call.constant("B_WEIGHTS", args.weights).arena("B_Y", args.y);
  call.number("WHOLE_RUN", part == Part::kWholeRun).number("ONE_ROW", part == Part::kOneRow);
  call.number("STATE_ONLY", moves_state_only);
  call.number("CHANNELS", s.n_channels).number("TAPS", s.n_taps);
  call.number("X_STRIDE", s.x_stride).number("X_COLUMN", s.x_column);
  call.number("BIAS", s.has_bias).number("SILU", s.form == ConvForm::kSilu);
  call.number("GATED", s.form == ConvForm::kGated).number("WG", kWorkgroup);
  call.grid({Extent::kOne, div_up(s.n_channels, kWorkgroup), 1}, {Extent::kTokens});
  std::vector<KernelCall> one;
  call.add_to(one);
  return std::move(one.front());
}

}  // namespace

base::Result<void> conv(const gpu::DeviceInfo&, const ConvArgs& args,
                        std::vector<KernelCall>& out) {
  const ConvShape& s = args.shape;
  if (s.n_taps < 2 || s.n_taps > kMaxConvTaps || s.n_channels == 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Convolution {} has {} taps over {} channels; 2 to {} taps are supported.",
                    args.label, s.n_taps, s.n_channels, kMaxConvTaps));
  }
  if (args.max_rows <= kMaxWholeRunRows) {
    out.push_back(describe(args, Part::kWholeRun));
  } else {
    out.push_back(describe(args, Part::kOneRow));
    out.push_back(describe(args, Part::kStateOnly));
  }
  return {};
}

}  // namespace puna::kernels
