// Functions of one element, in place: y = f(y), y [n_rows, n] f32. Where a product feeds the
// function, matmul's epilogue applies it (common/activation.h); this pass is for all other places.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

// a, b, c and d are UnaryShape::with, in this order.
enum class Unary : uint8_t {
  kAbs,
  kNegate,
  kSign,   // 1, -1, and 0 of either zero
  kStep,   // 1 above zero, else 0
  kFill,   // a, whatever y was
  kClamp,  // min(max(v, a), b)
  kSquare,
  kSqrt,
  kExp,
  kExpm1,  // exp(v) - 1, right near zero too
  kLog,
  kSin,  // |v| up to 30,000; kCos too
  kCos,
  kCeil,
  kFloor,
  kRound,  // halves away from zero
  kTrunc,
  kRelu,
  kElu,    // v above zero, else exp(v) - 1 (Clevert et al. 2015)
  kXielu,  // a v^2 + c v above zero, else b (exp(min(v, d)) - 1 - v) + c v (Huang and Schlag 2024)
  kSigmoid,
  kHardSigmoid,  // min(max((v + 3) / 6, 0), 1) (Howard et al. 2019)
  kHardSwish,    // v times that
  kSilu,
  kGeluTanh,
  kGeluErf,
  kGeluQuick,
  kTanh,
  kSoftplus,  // log(1 + exp(v))
};
constexpr Unary kLastUnary = Unary::kSoftplus;

// Its function in unary.wgsl, which is also its name in reports.
std::string_view name(Unary function);

struct UnaryShape {
  Unary function = Unary::kAbs;
  uint32_t n = 0;
  std::array<float, 4> with = {};
};

struct UnaryArgs {
  std::string label;
  Slice y = {};
  UnaryShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument for parameters that are not finite.
base::Result<void> unary(const gpu::DeviceInfo& device, const UnaryArgs& args,
                         std::vector<KernelCall>& out);

struct UnaryCpuArgs {
  float* y = nullptr;
  uint32_t n_rows = 0;
  UnaryShape shape = {};
};
void unary_cpu(base::ThreadPool& pool, const UnaryCpuArgs& args);

}  // namespace puna::kernels
