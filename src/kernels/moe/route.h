// Which experts a row goes to, and their shares: router logits -> n_chosen experts with weights.
//   logits  [n_rows, n_experts]  f32
//   routes  [n_rows, 2 * n_chosen] 32-bit words: the experts' indices (u32), best first, then their
//           weights (f32) in the same order
// scores = softmax or sigmoid of the logits over all experts (or the logits themselves for
// kSoftmaxOfChosen and kSparseMixer). Experts are chosen by score + selection_bias [n_experts]; of
// equal ones the first wins. With n_groups > 1 only experts of the groups_chosen best groups can be
// chosen, a group being n_experts / n_groups neighbours and worth the sum of its two best
// (DeepSeek-V3 Technical Report, 2024, sections 2.1.2 and 3.2). The weights are the chosen experts'
// scores without the selection bias; kSoftmaxOfChosen takes the softmax over the chosen logits
// (Mixtral, gpt-oss). kSparseMixer (SparseMixer-v2 of Phi-3.5-MoE, Liu et al. 2023, as it is used
// after training) weighs each chosen expert by its share of a softmax over those that were not
// chosen before it, but for those whose logit l is below the chosen one's, m, by more than
// kSparseMixerMargin * max(|l|, m). normalise divides them by their sum, then they are multiplied
// by `scale`.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class ExpertScores : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen, kSparseMixer };
constexpr float kSparseMixerMargin = 0.02f;

struct RouteParams {
  uint32_t n_experts = 0;  // at most kMaxExperts
  uint32_t n_chosen = 0;   // at most kMaxChosen and n_experts
  ExpertScores scores = ExpertScores::kSoftmax;
  bool normalise = false;
  float scale = 1.0f;
  uint32_t n_groups = 1;  // divides n_experts; groups have at least two experts when above 1
  uint32_t groups_chosen = 1;
};
constexpr uint32_t kMaxExperts = 1024;
constexpr uint32_t kMaxChosen = 64;

// Errors: kUnsupported naming the parameter that is out of range.
base::Result<void> check_route(std::string_view label, const RouteParams& params);

struct RouteArgs {
  std::string label;
  Slice logits = {};
  std::optional<Slice> selection_bias = {};
  Slice routes = {};
  RouteParams params = {};
  Rows rows = Rows::kTokens;
};
base::Result<void> route(const gpu::DeviceInfo& device, const RouteArgs& args,
                         std::vector<KernelCall>& out);

struct RouteCpuArgs {
  const float* logits = nullptr;
  const float* selection_bias = nullptr;  // null = none
  uint32_t* experts = nullptr;            // [n_rows, n_chosen]
  float* weights = nullptr;               // [n_rows, n_chosen]
  uint32_t n_rows = 0;
  RouteParams params;
};
void route_cpu(base::ThreadPool& pool, const RouteCpuArgs& args);

}  // namespace puna::kernels
