#include "kernels/selftest/operations.h"

namespace puna::kernels {
namespace {

using base::Result;

class CpuOperations : public Operations {
 public:
  explicit CpuOperations(base::ThreadPool& pool) : pool_(pool) {}

  Result<void> unary(const UnaryCpuArgs& args) override { return run(unary_cpu, args); }
  Result<void> binary(const BinaryCpuArgs& args) override { return run(binary_cpu, args); }
  Result<void> copy(const CopyCpuArgs& args) override { return run(copy_cpu, args); }
  Result<void> move_rows(const RowsCpuArgs& args) override { return run(move_rows_cpu, args); }
  Result<void> reduce(const ReduceCpuArgs& args) override { return run(reduce_cpu, args); }
  Result<void> softmax(const SoftmaxCpuArgs& args) override { return run(softmax_cpu, args); }
  Result<void> sort_indices(const SortCpuArgs& args) override {
    return run(sort_indices_cpu, args);
  }
  Result<void> im2col(const Conv2dCpuArgs& args) override { return run(im2col_cpu, args); }
  Result<void> depthwise(const Conv2dCpuArgs& args) override { return run(depthwise_cpu, args); }
  Result<void> resize(const ResizeCpuArgs& args) override { return run(resize_cpu, args); }
  Result<void> pad(const PadCpuArgs& args) override { return run(pad_cpu, args); }
  Result<void> hadamard(const HadamardCpuArgs& args) override { return run(hadamard_cpu, args); }
  Result<void> mrope(const MropeCpuArgs& args) override { return run(mrope_cpu, args); }

 private:
  template <class Args>
  Result<void> run(void (*kernel)(base::ThreadPool&, const Args&), const Args& args) {
    kernel(pool_, args);
    return {};
  }

  base::ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Operations> operations_cpu(base::ThreadPool& pool) {
  return std::make_unique<CpuOperations>(pool);
}

}  // namespace puna::kernels
