// GPU form of delta.h: how a head's state is spread over invocations.
#include "kernels/delta/delta.h"

#include <algorithm>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 128;  // invocations, about
constexpr uint32_t kMaxLanes = 4;     // of one row of state
constexpr uint32_t kMaxKeyDim = 256;  // an invocation then holds 16 vec4
constexpr uint32_t kMaxBlock = 16;    // tokens whose lengths are made at once
constexpr uint32_t kSummers = 4;      // invocations that sum one token's squares

bool supported(const DeltaShape& s) {
  return s.n_key_heads > 0 && s.n_value_heads > 0 && s.n_value_heads % s.n_key_heads == 0 &&
         s.key_dim > 0 && s.key_dim % 4 == 0 && s.key_dim <= kMaxKeyDim && s.value_dim > 0 &&
         s.value_dim % 4 == 0;
}

}  // namespace

base::Result<void> delta(const gpu::DeviceInfo&, const DeltaArgs& args,
                         std::vector<KernelCall>& out) {
  const DeltaShape& s = args.shape;
  if (!supported(s)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The delta rule {} has {} value heads of {} elements over {} key heads of {}; "
                    "value heads must be a multiple of key heads, elements multiples of 4, those "
                    "of a key at most {}.",
                    args.label, s.n_value_heads, s.value_dim, s.n_key_heads, s.key_dim,
                    kMaxKeyDim));
  }
  uint32_t lanes = 1;
  while (lanes < kMaxLanes && s.key_dim / 4 % (2 * lanes) == 0) lanes *= 2;
  const uint32_t columns_each = kWorkgroup / lanes;

  Describe call(args.label, "delta/delta.wgsl");
  call.constant("B_STEP", args.step).arena("B_QKV", args.qkv).arena("B_IN", args.in);
  call.constant("B_CONSTANTS", args.constants).arena("B_STATE", args.state).arena("B_Y", args.y);
  call.number("N_KEY_HEADS", s.n_key_heads).number("N_VALUE_HEADS", s.n_value_heads);
  call.number("KEY_DIM", s.key_dim).number("VALUE_DIM", s.value_dim).number("TILED", s.tiled);
  call.number("IN_STRIDE", s.in_stride).number("HEAD_STRIDE", s.head_stride);
  call.number("BETA_COLUMN", s.beta_column).number("ALPHA_COLUMN", s.alpha_column);
  call.real("EPS", s.eps).number("LANES", lanes).number("COLUMNS_EACH", columns_each);
  call.number("PER", s.key_dim / 4 / lanes).number("BLOCK", std::min(args.max_rows, kMaxBlock));
  call.number("SUMMERS", kSummers);
  call.grid({Extent::kOne, s.n_value_heads * div_up(s.value_dim, columns_each), 1},
            {Extent::kTokens});
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
