#include "models/experts.h"

#include <fmt/format.h>

namespace puna::models {

using base::ErrorCode;
using base::Result;
using kernels::ExpertScores;
using kernels::RouteParams;

namespace {

// The values of ARCH.expert_gating_func.
Result<ExpertScores> scores_of(const std::string& key, uint64_t function) {
  switch (function) {
    case 1:
      return ExpertScores::kSoftmax;
    case 2:
      return ExpertScores::kSigmoid;
    case 3:
      return ExpertScores::kSoftmaxOfChosen;
    default:
      return base::fail(
          ErrorCode::kUnsupported,
          fmt::format("The key \"{}\" is {}; supported are 1 (softmax), 2 (sigmoid) and 3 (softmax "
                      "of the chosen).",
                      key, function));
  }
}

}  // namespace

Result<RouteParams> read_route(const formats::ModelFile& file, const Config& c, RouteParams usual) {
  const std::string p = c.architecture + ".expert_";
  RouteParams route = usual;
  const auto count = [&](const char* name, uint32_t otherwise) -> Result<uint32_t> {
    PUNA_TRY(const uint64_t n, file.get_uint(p + name, otherwise));
    if (n > kernels::kMaxExperts) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The key \"{}{}\" is {}; at most {} is supported.", p, name, n,
                                    kernels::kMaxExperts));
    }
    return static_cast<uint32_t>(n);
  };
  PUNA_TRY(route.n_experts, count("count", 0));
  if (route.n_experts == 0) return route;
  PUNA_TRY(file.get_uint(p + "used_count"));  // nothing can stand for it
  PUNA_TRY(route.n_chosen, count("used_count", 0));
  PUNA_TRY(route.n_groups, count("group_count", 1));
  PUNA_TRY(route.groups_chosen, count("group_used_count", route.n_groups));
  PUNA_TRY(route.normalise, file.get_bool(p + "weights_norm", usual.normalise));
  PUNA_TRY(const double scale, file.get_float(p + "weights_scale", 0.0));
  if (scale != 0.0) route.scale = static_cast<float>(scale);  // 0 stands for none
  if (file.find(p + "gating_func")) {
    PUNA_TRY(const uint64_t function, file.get_uint(p + "gating_func"));
    if (function != 0) {  // 0 stands for the usual one
      PUNA_TRY(route.scores, scores_of(p + "gating_func", function));
    }
  }
  return route;
}

plan::Value experts(plan::Builder& b, uint32_t layer, plan::Value h, const RouteParams& route,
                    kernels::Epilogue activation, std::optional<plan::Value> logits) {
  plan::MoeSpec spec;
  spec.router = layer_name(layer, "ffn_gate_inp");
  const std::string bias = fmt::format("blk.{}.exp_probs_b.bias", layer);
  if (b.has(bias)) spec.selection_bias = bias;
  spec.gate = layer_name(layer, "ffn_gate_exps");
  spec.up = layer_name(layer, "ffn_up_exps");
  spec.down = layer_name(layer, "ffn_down_exps");
  spec.logits = logits;
  spec.route = route;
  spec.activation = activation;
  return b.moe(h, spec);
}

plan::Value plain_experts(plan::Builder& b, uint32_t layer, plan::Value h,
                          const RouteParams& route) {
  plan::MoeSpec spec;
  spec.router = layer_name(layer, "ffn_gate_inp");
  spec.up = layer_name(layer, "ffn_up_exps");
  spec.down = layer_name(layer, "ffn_down_exps");
  spec.route = route;
  spec.activation = kernels::Epilogue::kActivate;
  return b.moe(h, spec);
}

plan::Value shared_expert(plan::Builder& b, uint32_t layer, plan::Value h) {
  const plan::Value f = b.gated(layer_name(layer, "ffn_gate_shexp"),
                                layer_name(layer, "ffn_up_shexp"), h, kernels::Activation::kSilu);
  return b.matmul({layer_name(layer, "ffn_down_shexp")}, f);
}

plan::Value gated_shared_expert(plan::Builder& b, uint32_t layer, plan::Value h) {
  const plan::Value gate = b.matmul({layer_name(layer, "ffn_gate_inp_shexp")}, h);
  return b.gate(shared_expert(b, layer, h), gate);
}

}  // namespace puna::models
