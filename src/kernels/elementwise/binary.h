// Two operands, element by element, in place on the first: y = y op x; of kLeast and kMost the
// smaller and the larger of both.
//   y [n_rows, n]  f32
//   x  f32, by `spread`: [n_rows, n_parts * n], of which part `part` counts; one row [n] for all;
//   one number for each row [n_rows]; or
//      one number
#pragma once

#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class Binary : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kLeast, kMost };
constexpr Binary kBinaries[] = {Binary::kAdd,    Binary::kSubtract, Binary::kMultiply,
                                Binary::kDivide, Binary::kLeast,    Binary::kMost};
std::string_view name(Binary op);

enum class Spread : uint8_t { kElements, kRow, kColumn, kOne };
std::string_view name(Spread spread);

struct BinaryShape {
  Binary op = Binary::kAdd;
  uint32_t n = 0;
  Spread spread = Spread::kElements;
  uint32_t part = 0, n_parts = 1;  // of kElements
};

struct BinaryArgs {
  std::string label;
  Slice x = {}, y = {};
  BinaryShape shape = {};
  bool x_is_constant = false;  // no kernel of the step writes x's buffer
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument when there is no such part.
base::Result<void> binary(const gpu::DeviceInfo& device, const BinaryArgs& args,
                          std::vector<KernelCall>& out);

struct BinaryCpuArgs {
  const float* x = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  BinaryShape shape = {};
};
void binary_cpu(base::ThreadPool& pool, const BinaryCpuArgs& args);

}  // namespace puna::kernels
