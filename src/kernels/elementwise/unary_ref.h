// The plain form of unary.h, in f64.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/elementwise/unary.h"

namespace puna::kernels {

inline double unary_ref(const UnaryShape& shape, double v) {
  const auto [a, b, c, d] =
      std::array<double, 4>{shape.with[0], shape.with[1], shape.with[2], shape.with[3]};
  switch (shape.function) {
    case Unary::kAbs:
      return std::fabs(v);
    case Unary::kNegate:
      return -v;
    case Unary::kSign:
      return v > 0 ? 1 : v < 0 ? -1 : 0;
    case Unary::kStep:
      return v > 0 ? 1 : 0;
    case Unary::kFill:
      return a;
    case Unary::kClamp:
      return std::min(std::max(v, a), b);
    case Unary::kSquare:
      return v * v;
    case Unary::kSqrt:
      return std::sqrt(v);
    case Unary::kExp:
      return std::exp(v);
    case Unary::kExpm1:
      return std::expm1(v);
    case Unary::kLog:
      return std::log(v);
    case Unary::kSin:
      return std::sin(v);
    case Unary::kCos:
      return std::cos(v);
    case Unary::kCeil:
      return std::ceil(v);
    case Unary::kFloor:
      return std::floor(v);
    case Unary::kRound:
      return std::round(v);
    case Unary::kTrunc:
      return std::trunc(v);
    case Unary::kRelu:
      return activate_ref(Activation::kRelu, v);
    case Unary::kElu:
      return v > 0 ? v : std::expm1(v);
    case Unary::kXielu:
      return v > 0 ? a * v * v + c * v : b * (std::expm1(std::min(v, d)) - v) + c * v;
    case Unary::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case Unary::kHardSigmoid:
      return std::min(std::max((v + 3) / 6, 0.0), 1.0);
    case Unary::kHardSwish:
      return v * std::min(std::max((v + 3) / 6, 0.0), 1.0);
    case Unary::kSilu:
      return activate_ref(Activation::kSilu, v);
    case Unary::kGeluTanh:
      return activate_ref(Activation::kGeluTanh, v);
    case Unary::kGeluErf:
      return activate_ref(Activation::kGeluErf, v);
    case Unary::kGeluQuick:
      return activate_ref(Activation::kGeluQuick, v);
    case Unary::kTanh:
      return std::tanh(v);
    case Unary::kSoftplus:
      return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
  }
  return 0;
}

inline void unary_ref(const UnaryCpuArgs& args) {
  for (uint64_t i = 0; i < uint64_t{args.n_rows} * args.shape.n; ++i)
    args.y[i] = static_cast<float>(unary_ref(args.shape, double{args.y[i]}));
}

}  // namespace puna::kernels
