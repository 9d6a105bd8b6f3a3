// GPU form of local_attention.h: a workgroup a head of a row.
#include "kernels/local_attention/local_attention.h"

#include "kernels/common/describe.h"

namespace puna::kernels {

base::Result<void> local_attention(const gpu::DeviceInfo& device, const LocalAttentionArgs& args,
                                   std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 64;  // invocations
  constexpr uint32_t kSharers = 4;     // of one score; 16 distances are looked at at a time
  const LocalAttentionShape& s = args.shape;
  if (s.n_heads == 0 || s.head_dim == 0 || s.window == 0 || s.window > kMaxLocalWindow ||
      !(s.cap > 0) || s.n_heads > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Attention {} has {} heads of {} elements, a window of {} and a cap of {}; "
                    "heads are 1 to {}, windows 1 to {}, caps above 0.",
                    args.label, s.n_heads, s.head_dim, s.window, s.cap,
                    device.limits.max_workgroups_per_dimension, kMaxLocalWindow));
  }
  Describe(args.label, "local_attention/local_attention.wgsl")
      .arena("B_Q", args.q)
      .arena("B_K", args.k)
      .arena("B_V", args.v)
      .constant("B_GAMMA", args.gamma)
      .constant("B_FAR", args.far)
      .arena("B_BEFORE", args.before)
      .arena("B_Y", args.y)
      .number("HEAD_DIM", s.head_dim)
      .number("WIDTH", s.width())
      .number("WINDOW", s.window)
      .number("BEFORE_STRIDE", s.before_stride)
      .real("SCALE", s.scale)
      .real("KEY_SCALE", s.key_scale)
      .real("CAP", s.cap)
      .number("SHARERS", kSharers)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, s.n_heads, 1}, {extent_of(args.rows)})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
