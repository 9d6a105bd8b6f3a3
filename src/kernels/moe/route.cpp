// GPU form of route.h: a workgroup a row.
#include "kernels/moe/route.h"

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"

namespace puna::kernels {

using base::ErrorCode;

base::Result<void> check_route(std::string_view label, const RouteParams& params) {
  const auto refuse = [&](std::string why) {
    return base::fail(ErrorCode::kUnsupported, fmt::format("Router {} {}.", label, why));
  };
  if (params.n_experts == 0 || params.n_experts > kMaxExperts) {
    return refuse(
        fmt::format("has {} experts; 1 to {} are supported", params.n_experts, kMaxExperts));
  }
  const uint32_t most = std::min(kMaxChosen, params.n_experts);
  if (params.n_chosen == 0 || params.n_chosen > most) {
    return refuse(fmt::format("chooses {} of {} experts; 1 to {} are supported", params.n_chosen,
                              params.n_experts, most));
  }
  if (params.n_groups <= 1) return {};
  if (params.n_experts % params.n_groups != 0 || params.n_experts / params.n_groups < 2) {
    return refuse(
        fmt::format("has {} experts in {} groups; groups of equal size, of at least two "
                    "experts, are supported",
                    params.n_experts, params.n_groups));
  }
  const uint32_t open = params.groups_chosen * (params.n_experts / params.n_groups);
  if (params.groups_chosen > params.n_groups || open < params.n_chosen) {
    return refuse(fmt::format("chooses {} experts from {} of {} groups of {}", params.n_chosen,
                              params.groups_chosen, params.n_groups,
                              params.n_experts / params.n_groups));
  }
  return {};
}

base::Result<void> route(const gpu::DeviceInfo& device, const RouteArgs& args,
                         std::vector<KernelCall>& out) {
  const RouteParams& params = args.params;
  PUNA_TRY(check_route(args.label, params));
  Describe call(args.label, "moe/route.wgsl");
  call.arena("B_LOGITS", args.logits).arena("B_ROUTES", args.routes);
  if (args.selection_bias) call.constant("B_SELECTION_BIAS", *args.selection_bias);
  call.number("EXPERTS", params.n_experts).number("CHOSEN", params.n_chosen);
  call.number("SOFTMAX", params.scores == ExpertScores::kSoftmax)
      .number("SIGMOID", params.scores == ExpertScores::kSigmoid)
      .number("SOFTMAX_OF_CHOSEN", params.scores == ExpertScores::kSoftmaxOfChosen);
  if (params.scores == ExpertScores::kSparseMixer)
    call.flag("SPARSE_MIXER").real("MARGIN", kSparseMixerMargin);
  call.number("NORMALISE", params.normalise).real("SCALE", params.scale);
  call.number("GROUPS", params.n_groups).number("GROUPS_CHOSEN", params.groups_chosen);
  const uint32_t most = std::min(256u, device.limits.max_workgroup_invocations);
  call.number("WG", std::clamp(std::bit_ceil(params.n_experts), 64u, most));
  call.grid({extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
