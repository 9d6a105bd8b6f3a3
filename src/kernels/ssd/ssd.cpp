// GPU form of ssd.h: how a head's state is spread over invocations.
#include "kernels/ssd/ssd.h"

#include <algorithm>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 128;  // invocations, about
constexpr uint32_t kMaxLanes = 8;     // of one row of state
constexpr uint32_t kMaxState = 256;   // elements of a row; an invocation then holds 8 vec4
constexpr uint32_t kMaxBlock = 16;    // tokens between barriers; the shares take 8 KiB

bool supported(const SsdShape& s) {
  return s.n_heads > 0 && s.head_dim > 0 && s.head_dim % 4 == 0 && s.n_state > 0 &&
         s.n_state % 4 == 0 && s.n_state <= kMaxState && s.n_groups > 0 &&
         s.n_heads % s.n_groups == 0;
}

}  // namespace

base::Result<void> ssd(const gpu::DeviceInfo&, const SsdArgs& args, std::vector<KernelCall>& out) {
  const SsdShape& s = args.shape;
  if (!supported(s)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The scan {} has {} heads of {} elements in {} groups with {} states; heads "
                    "must be a multiple of groups, elements and states multiples of 4, states at "
                    "most {}.",
                    args.label, s.n_heads, s.head_dim, s.n_groups, s.n_state, kMaxState));
  }
  uint32_t lanes = 1;
  while (lanes < kMaxLanes && s.n_state / 4 % (2 * lanes) == 0) lanes *= 2;
  const uint32_t rows_each = std::min(s.head_dim, kWorkgroup / lanes);

  Describe call(args.label, "ssd/ssd.wgsl");
  call.constant("B_STEP", args.step).arena("B_XBC", args.xbc).arena("B_IN", args.in);
  call.constant("B_CONSTANTS", args.constants).arena("B_STATE", args.state).arena("B_Y", args.y);
  call.number("N_HEADS", s.n_heads).number("HEAD_DIM", s.head_dim).number("N_STATE", s.n_state);
  call.number("N_GROUPS", s.n_groups).number("IN_STRIDE", s.in_stride);
  call.number("DT_COLUMN", s.dt_column).number("Z_COLUMN", s.z_column);
  call.number("LANES", lanes).number("ROWS_EACH", rows_each);
  call.number("PER", s.n_state / 4 / lanes).number("BLOCK", std::min(args.max_rows, kMaxBlock));
  call.grid({Extent::kOne, s.n_heads * div_up(s.head_dim, rows_each), 1}, {Extent::kTokens});
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
