// Runs single operations on a gpu::Device from host arrays: inputs up, the calls described and run,
// y back.
#include <algorithm>

#include "kernels/common/workbench.h"
#include "kernels/selftest/operations.h"

namespace puna::kernels {
namespace {

using base::Result;
using Calls = std::vector<KernelCall>;

class GpuOperations : public Operations {
 public:
  explicit GpuOperations(gpu::Device& device) : device_(device) {}

  Result<void> unary(const UnaryCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.shape.n;
    UnaryArgs a{"unary", {}, args.shape};
    PUNA_TRY(a.y, up(bench, args.y, n));
    return run(bench, args.n_rows, kernels::unary, a, args.y, n);
  }
  Result<void> binary(const BinaryCpuArgs& args) override {
    Workbench bench(device_);
    const BinaryShape& s = args.shape;
    const uint64_t n = uint64_t{args.n_rows} * s.n;
    const uint64_t n_x = s.spread == Spread::kElements ? n * s.n_parts
                         : s.spread == Spread::kRow    ? s.n
                         : s.spread == Spread::kColumn ? args.n_rows
                                                       : 1;
    BinaryArgs a{"binary", {}, {}, s};
    a.x_is_constant = s.spread == Spread::kRow;
    PUNA_TRY(a.x, up(bench, args.x, n_x));
    PUNA_TRY(a.y, up(bench, args.y, n));
    return run(bench, args.n_rows, kernels::binary, a, args.y, n);
  }
  Result<void> copy(const CopyCpuArgs& args) override {
    Workbench bench(device_);
    const CopyShape& s = args.shape;
    const auto words = [](Element type, uint64_t end) {
      return type == Element::kHalf ? (end + 1) / 2 : end;
    };
    const uint64_t n = words(s.y_type, s.y_end());
    CopyArgs a{"copy", {}, {}, s, {}};
    PUNA_TRY(a.x, up(bench, static_cast<const uint32_t*>(args.x), words(s.x_type, s.x_end())));
    PUNA_TRY(a.y, up(bench, static_cast<uint32_t*>(args.y), n));
    // Rows of a step where it can be, so that both forms of the grid are used.
    const bool by_rows = s.sizes.size() > 1 && s.sizes[0] <= 512;
    if (by_rows) a.rows = Rows::kTokens;
    return run(bench, by_rows ? s.sizes[0] : 1, kernels::copy, a, static_cast<uint32_t*>(args.y),
               n);
  }
  Result<void> move_rows(const RowsCpuArgs& args) override {
    Workbench bench(device_);
    const RowsShape& s = args.shape;
    const bool take = s.move == RowMove::kTake;
    const uint64_t n_moved = uint64_t{args.n_rows} * s.n, n_indexed = uint64_t{s.n_indexed} * s.n;
    RowsArgs a{"rows", {}, {}, {}, s};
    PUNA_TRY(a.x, up(bench, args.x, take ? n_indexed : n_moved));
    PUNA_TRY(a.index, up(bench, args.index, args.n_rows));
    PUNA_TRY(a.y, up(bench, args.y, take ? n_moved : n_indexed));
    return run(bench, args.n_rows, kernels::move_rows, a, args.y, take ? n_moved : n_indexed);
  }
  Result<void> reduce(const ReduceCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n_rows = uint64_t{args.n_rows} * args.shape.n_parts;
    const uint64_t n = n_rows * args.shape.y_columns();
    ReduceArgs a{"reduce", {}, {}, args.shape};
    PUNA_TRY(a.x, up(bench, args.x, n_rows * args.shape.n));
    PUNA_TRY(a.y, bench.output(n));
    return run(bench, args.n_rows, kernels::reduce, a, static_cast<uint32_t*>(args.y), n);
  }
  Result<void> softmax(const SoftmaxCpuArgs& args) override {
    Workbench bench(device_);
    const SoftmaxShape& s = args.shape;
    const uint64_t n = uint64_t{args.n_rows} * s.n_heads * s.n;
    SoftmaxArgs a{"softmax", {}, {}, {}, {}, s};
    PUNA_TRY(a.y, up(bench, args.y, n));
    if (args.bias) {
      PUNA_TRY(a.bias, up(bench, args.bias, s.bias_by_head ? n : n / s.n_heads));
    }
    if (args.slopes) {
      PUNA_TRY(a.slopes, up(bench, args.slopes, s.n_heads));
    }
    if (args.sinks) {
      PUNA_TRY(a.sinks, up(bench, args.sinks, s.n_heads));
    }
    return run(bench, args.n_rows, kernels::softmax, a, args.y, n);
  }
  Result<void> sort_indices(const SortCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.shape.k;
    SortArgs a{"sort", {}, {}, args.shape};
    PUNA_TRY(a.x, up(bench, args.x, uint64_t{args.n_rows} * args.shape.n));
    PUNA_TRY(a.y, bench.output(n));
    return run(bench, args.n_rows, kernels::sort_indices, a, args.y, n);
  }
  Result<void> im2col(const Conv2dCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.shape.columns();
    Im2colArgs a{"im2col", {}, {}, args.shape, args.first_row, args.n_rows};
    PUNA_TRY(a.x, up(bench, args.x, args.shape.x_elements()));
    PUNA_TRY(a.y, bench.output(n));
    return run(bench, 1, kernels::im2col, a, args.y, n);
  }
  Result<void> depthwise(const Conv2dCpuArgs& args) override {
    Workbench bench(device_);
    const Conv2dShape& s = args.shape;
    DepthwiseArgs a{"depthwise", {}, {}, {}, {}, s};
    PUNA_TRY(a.x, up(bench, args.x, s.x_elements()));
    PUNA_TRY(a.weights, up(bench, args.weights, s.columns()));
    if (args.bias) {
      PUNA_TRY(a.bias, up(bench, args.bias, s.n_channels));
    }
    PUNA_TRY(a.y, bench.output(s.y_elements()));
    return run(bench, 1, kernels::depthwise, a, args.y, s.y_elements());
  }
  Result<void> resize(const ResizeCpuArgs& args) override {
    return image(args, ResizeArgs{"resize", {}, {}, args.shape}, kernels::resize);
  }
  Result<void> pad(const PadCpuArgs& args) override {
    return image(args, PadArgs{"pad", {}, {}, args.shape}, kernels::pad);
  }
  Result<void> hadamard(const HadamardCpuArgs& args) override {
    Workbench bench(device_);
    const uint64_t n = uint64_t{args.n_rows} * args.shape.n_parts * args.shape.n;
    HadamardArgs a{"hadamard", {}, args.shape};
    PUNA_TRY(a.y, up(bench, args.y, n));
    return run(bench, args.n_rows, kernels::hadamard, a, args.y, n);
  }
  Result<void> mrope(const MropeCpuArgs& args) override {
    Workbench bench(device_);
    const MropeShape& s = args.shape;
    const uint64_t n = uint64_t{args.n_rows} * s.n_heads * s.head_dim;
    std::vector<SectionPair> pairs;
    PUNA_TRY(pairs, section_pairs(s));
    const std::vector<uint32_t> table = mrope_table(pairs);
    MropeArgs a{"mrope", {}, {}, {}, s};
    PUNA_TRY(a.table, up(bench, table.data(), table.size()));
    PUNA_TRY(a.positions, up(bench, args.positions, uint64_t{args.n_rows} * kSections));
    PUNA_TRY(a.y, up(bench, args.y, n));
    return run(bench, args.n_rows, kernels::mrope, a, args.y, n);
  }

 private:
  template <class Args>
  using DescribeCalls = Result<void>(const gpu::DeviceInfo&, const Args&, Calls&);

  template <class T>
  static Result<Slice> up(Workbench& bench, const T* values, uint64_t n) {
    return bench.upload(values, n);
  }

  // Describes, runs and reads args.y back into y.
  template <class Args, class T>
  Result<void> run(Workbench& bench, uint32_t n_rows, DescribeCalls<Args>* describe,
                   const Args& args, T* y, uint64_t n) {
    Calls calls;
    PUNA_TRY(describe(device_.info(), args, calls));
    PUNA_TRY(bench.run(calls, {n_rows, n_rows, 1}));
    return bench.read(args.y, y, n);
  }

  template <class CpuArgs, class Args>
  Result<void> image(const CpuArgs& cpu, Args args, DescribeCalls<Args>* describe) {
    Workbench bench(device_);
    const ImageShape& s = cpu.shape.image;
    PUNA_TRY(args.x, up(bench, cpu.x, s.x_elements()));
    PUNA_TRY(args.y, bench.output(s.y_elements()));
    return run(bench, 1, describe, args, cpu.y, s.y_elements());
  }

  gpu::Device& device_;
};

}  // namespace

std::unique_ptr<Operations> operations_gpu(gpu::Device& device) {
  return std::make_unique<GpuOperations>(device);
}

}  // namespace puna::kernels
