// The activation functions of feed-forward blocks, by one name for every kernel that applies them:
// elementwise_ref.h has their formulas, math-inl.h and math.wgsl their fast forms.
#pragma once

#include <cstdint>
#include <string_view>

namespace puna::kernels {

enum class Activation : uint8_t {
  kSilu,         // v / (1 + exp(-v))
  kGeluTanh,     // the tanh form of GELU (Hendrycks and Gimpel 2016)
  kGeluErf,      // v * (normal distribution function of v)
  kRelu,         // max(v, 0)
  kReluSquared,  // max(v, 0)^2 (So et al. 2021)
  kTanh,
  kGeluQuick,  // v / (1 + exp(-1.702 v)), the short form of the same paper
};
constexpr Activation kActivations[] = {
    Activation::kSilu,        Activation::kGeluTanh, Activation::kGeluErf,  Activation::kRelu,
    Activation::kReluSquared, Activation::kTanh,     Activation::kGeluQuick};

// Its function in common/math.wgsl, which is also its name in reports.
constexpr std::string_view name(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      return "relu_squared";
    case Activation::kTanh:
      return "tanh_exact";
    case Activation::kGeluQuick:
      return "gelu_quick";
  }
  return "";
}

}  // namespace puna::kernels
