// The roles of single operations (those that no weight and no state belongs to) as functions on
// host arrays, for the self-test and for the roles' own tests, which run the same cases:
// operations_cases.h. The CPU argument structs serve as the description for every device.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gpu/device.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/copy/copy.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/image/image.h"
#include "kernels/mrope/mrope.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rows/rows.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sort/sort.h"

namespace puna::kernels {

// What a call writes must be there before it where the call does not write all of it: y is uploaded
// first.
class Operations {
 public:
  virtual ~Operations() = default;
  virtual base::Result<void> unary(const UnaryCpuArgs& args) = 0;
  virtual base::Result<void> binary(const BinaryCpuArgs& args) = 0;
  virtual base::Result<void> copy(const CopyCpuArgs& args) = 0;
  virtual base::Result<void> move_rows(const RowsCpuArgs& args) = 0;
  virtual base::Result<void> reduce(const ReduceCpuArgs& args) = 0;
  virtual base::Result<void> softmax(const SoftmaxCpuArgs& args) = 0;
  virtual base::Result<void> sort_indices(const SortCpuArgs& args) = 0;
  virtual base::Result<void> im2col(const Conv2dCpuArgs& args) = 0;
  virtual base::Result<void> depthwise(const Conv2dCpuArgs& args) = 0;
  virtual base::Result<void> resize(const ResizeCpuArgs& args) = 0;
  virtual base::Result<void> pad(const PadCpuArgs& args) = 0;
  virtual base::Result<void> hadamard(const HadamardCpuArgs& args) = 0;
  virtual base::Result<void> mrope(const MropeCpuArgs& args) = 0;
};

std::unique_ptr<Operations> operations_cpu(base::ThreadPool& pool);
std::unique_ptr<Operations> operations_gpu(gpu::Device& device);

}  // namespace puna::kernels
