// Products on the bench; see subject.h.
#include <algorithm>
#include <limits>

#include "gpu/timing.h"
#include "kernels/tune/subject.h"
#include "quant/planes.h"

namespace puna::kernels {
namespace {

using base::Result;

constexpr uint64_t kColdBytes = uint64_t{256} << 20;  // beyond the caches

// Weights whose codes and scales are plain numbers, and the grid where the type has one.
Result<Slice> make_weight(Workbench& bench, quant::Type type, uint32_t rows, uint32_t cols) {
  const quant::PlaneLayout layout = quant::plane_layout(type, rows, cols);
  PUNA_TRY(Slice slice, bench.pattern(layout.bytes, Workbench::kCodesAndScales));
  const auto grid = std::as_bytes(std::span(quant::planes_of(type).grid));
  if (!grid.empty()) {
    const Slice place{slice.buffer, layout.grid_offset_bytes, grid.size()};
    PUNA_TRY(bench.write(place, grid));
  }
  return slice;
}

class ProductSubject : public Subject {
 public:
  explicit ProductSubject(std::unique_ptr<Product> product)
      : product_(std::move(product)),
        portable_(default_tuning(product_->info(), product_->args())),
        role_(matmul_role(product_->args(), portable_)) {}

  std::string key() const override { return matmul_key(product_->args(), role_); }
  KnobValues portable() const override { return read_knobs(matmul_knobs(role_), portable_); }
  std::vector<KnobValues> neighbours(const KnobValues& knobs) const override {
    std::vector<KnobValues> out;
    // Tiles of matrix units: several knobs at once.
    for (const MatrixTuning& tile : matrix_tiles(product_->info(), product_->args())) {
      MatmulTuning tuning = portable_;
      tuning.matrix = tile;
      KnobValues values = read_knobs(matmul_knobs(role_), tuning);
      if (values != knobs && runs(values)) out.push_back(std::move(values));
    }
    for (const Knob<MatmulTuning>& knob : matmul_knobs(role_)) {
      // Rows of x at once: there is one.
      if (knob.name == "columns" && product_->args().max_rows == 1) continue;
      for (const uint32_t value : knob.allowed()) {
        KnobValues changed = knobs;
        changed[std::string(knob.name)] = value;
        if (changed != knobs && runs(changed)) out.push_back(std::move(changed));
      }
    }
    return out;
  }
  Result<double> us(const KnobValues& knobs, double enough_ms, int tries) override {
    return product_->us(tuning(knobs), enough_ms, tries);
  }
  Result<std::vector<float>> output(const KnobValues& knobs) override {
    return product_->output(tuning(knobs));
  }

 private:
  MatmulTuning tuning(const KnobValues& knobs) const {
    MatmulTuning t = portable_;
    write_knobs(matmul_knobs(role_), knobs, t);
    return t;
  }
  bool runs(const KnobValues& knobs) const {
    MatmulTuning t = portable_;
    return write_knobs(matmul_knobs(role_), knobs, t) &&
           tuning_fits(product_->info(), product_->args(), t);
  }

  std::unique_ptr<Product> product_;
  MatmulTuning portable_;
  std::string_view role_;
};

}  // namespace

Result<std::unique_ptr<Product>> Product::create(gpu::Device& device, const MatmulArgs& args,
                                                 uint64_t cold_bytes) {
  auto product = std::unique_ptr<Product>(new Product(device));
  PUNA_TRY(product->set_up(args, cold_bytes));
  return product;
}

Result<void> Product::set_up(const MatmulArgs& args, uint64_t cold_bytes) {
  args_ = args;
  args_.rows = Rows::kTokens;
  args_.norm.reset();
  args_.bias.reset();
  if (!is_gated(args.epilogue)) args_.epilogue = Epilogue::kStore;
  args_.x_in_scratch = false;
  args_.y_column = 0;
  args_.y_stride = is_gated(args.epilogue) ? args.weight.rows / 2 : args.weight.rows;
  do {
    GpuWeight copy = args.weight;
    for (GpuWeight::Chunk& chunk : copy.chunks) {
      PUNA_TRY(chunk.slice, make_weight(bench_, args.weight.type, chunk.n_rows, args.weight.cols));
      weight_bytes_ += chunk.slice.bytes;
    }
    copies_.push_back(std::move(copy));
  } while (weight_bytes_ < cold_bytes);
  weight_bytes_ /= copies_.size();
  PUNA_TRY(args_.step, bench_.step(args.max_rows));
  PUNA_TRY(args_.x,
           bench_.pattern(uint64_t{args.max_rows} * args.weight.cols * 4, Workbench::kActivations));
  PUNA_TRY(args_.y, bench_.output(n_outputs()));
  // The largest of what the forms want.
  MatmulTuning own = default_tuning(info(), args_);
  uint64_t scratch = matmul_scratch_bytes(info(), args_, own);
  own.matvec.own_int8 = false;
  scratch = std::max({scratch, matmul_scratch_bytes(info(), args_, own), uint64_t{256}});
  PUNA_TRY(args_.scratch, bench_.create(scratch));
  return {};
}

Result<void> Product::record(const MatmulTuning& tuning, size_t n_copies, gpu::CommandList& list) {
  for (size_t i = 0; i < n_copies; ++i) {
    MatmulArgs one = args_;
    one.weight = copies_[i];
    std::vector<KernelCall> calls;
    PUNA_TRY(matmul_tuned(info(), one, tuning, calls));
    const StepShape shape{.n_tokens = args_.max_rows, .n_outputs = args_.max_rows};
    PUNA_TRY(bench_.record(calls, shape, list));
  }
  return {};
}

Result<double> Product::us(const MatmulTuning& tuning, double enough_ms, int tries) {
  gpu::CommandList list;
  PUNA_TRY(record(tuning, copies_.size(), list));
  PUNA_TRY(const double us, gpu::pass_us(bench_.device(), list, enough_ms, tries));
  bench_.drop_groups();
  return us / static_cast<double>(copies_.size());
}

Result<std::vector<float>> Product::output(const MatmulTuning& tuning) {
  std::vector<float> y(static_cast<size_t>(n_outputs()), std::numeric_limits<float>::quiet_NaN());
  PUNA_TRY(bench_.write(args_.y, std::as_bytes(std::span(y))));
  gpu::CommandList list;
  PUNA_TRY(record(tuning, 1, list));
  PUNA_TRY(const gpu::SubmitId submit, bench_.device().submit(list));
  PUNA_TRY(bench_.device().wait(submit));
  bench_.drop_groups();
  PUNA_TRY(bench_.read(args_.y, y.data(), y.size()));
  return y;
}

Result<std::unique_ptr<Subject>> product_subject(gpu::Device& device, const MatmulArgs& args) {
  const bool software = device.info().type == gpu::AdapterType::kSoftware;
  PUNA_TRY(auto product, Product::create(device, args, software ? 1 : kColdBytes));
  return std::make_unique<ProductSubject>(std::move(product));
}

}  // namespace puna::kernels
