// GPU form of mla.h: a workgroup a row.
#include "kernels/mla/mla.h"

#include "kernels/common/describe.h"
#include "kernels/common/kv_call.h"
#include "kernels/rope/rope_call.h"

namespace puna::kernels {

base::Result<void> mla_append(const gpu::DeviceInfo& device, const MlaArgs& args,
                              std::vector<KernelCall>& out) {
  const MlaShape& shape = args.shape;
  PUNA_TRY(check_kv(args.label, args.layout, shape.n_heads));
  const uint32_t bytes = shape.k_dim() * 4 + 1024;
  if (args.layout.n_kv_heads != 1 || args.layout.head_dim != shape.k_dim() ||
      shape.n_latent % 4 != 0 || shape.rope.n_rot % 4 != 0 || shape.rope.n_rot == 0 ||
      bytes > device.limits.max_workgroup_bytes) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("{} has keys of {} elements, {} of them turned, in a cache of {} x {}; "
                    "multiples of 4 in one head are supported.",
                    args.label, shape.k_dim(), shape.rope.n_rot, args.layout.n_kv_heads,
                    args.layout.head_dim));
  }
  Describe call(args.label, "mla/mla.wgsl");
  call.constant("B_STEP", args.step).constant("B_PAGES", args.pages).arena("B_QUERIES", args.q);
  call.arena("B_KV", args.kv).constant("B_GAMMA", args.gamma).constant("B_TABLE", args.table);
  call.arena("B_Q_OUT", args.q_out).arena("B_K", args.k_cache);
  define_kv(call, args.layout, args.pages_per_sequence);
  call.number("N_HEADS", shape.n_heads)
      .text("Q_DIM", fmt::format("{}u", shape.q_dim()))
      .text("N_NOPE", fmt::format("{}u", shape.n_nope))
      .text("N_LATENT", fmt::format("{}u", shape.n_latent));
  define_rope(call, shape.rope);
  call.real("EPS", shape.norm_eps);
  call.number("WG", 128).grid({Extent::kTokens}).add_to(out);
  return {};
}

}  // namespace puna::kernels
