// What checks of roles with weights share: random weights of a type, on the CPU and on a GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/weight.h"
#include "kernels/common/workbench.h"
#include "kernels/matmul/matmul.h"
#include "quant/quant.h"

namespace puna::kernels {

// Random rows of a type, and their values.
struct CheckWeight {
  quant::Type type;
  uint32_t rows, cols;
  std::vector<std::byte> file;
  std::vector<float> values;
};
CheckWeight random_weight(quant::Type type, uint32_t rows, uint32_t cols, float deviation);

// The weight repacked into planes by the device itself.
base::Result<GpuWeight> upload_weight(Workbench& bench, quant::Type type,
                                      std::span<const std::byte> file_rows, uint32_t rows,
                                      uint32_t cols);

// "q4_k fast".
std::string weight_label(quant::Type type, Numerics numerics);
// Of the error of products whose activations came in this form.
double product_limit(XForm form, quant::Type type, Numerics numerics);

}  // namespace puna::kernels
