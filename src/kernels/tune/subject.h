// Subject: one kernel of a role and shape, set up on a device to be run with one set of knobs after
// another. Its data is large enough, or there often enough, to come from memory as in a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/attention/attention_gpu.h"
#include "kernels/common/workbench.h"
#include "kernels/matmul/matmul_gpu.h"

namespace puna::kernels {

class Subject {
 public:
  virtual ~Subject() = default;
  // As profiles name it: "matvec q4_0 4096x4096 fast x1".
  virtual std::string key() const = 0;
  virtual KnobValues portable() const = 0;
  // What the device can run and differs from `knobs` in one step of a search.
  virtual std::vector<KnobValues> neighbours(const KnobValues& knobs) const = 0;
  // Microseconds of one run: the best of `tries`, each of about enough_ms. Errors: of compiling and
  // running.
  virtual base::Result<double> us(const KnobValues& knobs, double enough_ms, int tries) = 0;
  // What one run leaves in its output, which held NaN before.
  virtual base::Result<std::vector<float>> output(const KnobValues& knobs) = 0;
};

// The product of args: its weight's type, shape and chunks, max_rows, numerics, epilogue; slices
// are not read. Errors: kOutOfMemory.
base::Result<std::unique_ptr<Subject>> product_subject(gpu::Device& device, const MatmulArgs& args);
// The attention of args, rows at the positions up to n_kv.
base::Result<std::unique_ptr<Subject>> attention_subject(gpu::Device& device,
                                                         const AttentionArgs& args, uint32_t n_kv);

// A product whose tuning the caller gives, for measurements beside a search.
class Product {
 public:
  // Copies of the weight together have at least cold_bytes.
  static base::Result<std::unique_ptr<Product>> create(gpu::Device& device, const MatmulArgs& args,
                                                       uint64_t cold_bytes);
  const MatmulArgs& args() const { return args_; }
  const gpu::DeviceInfo& info() const { return bench_.info(); }
  uint64_t weight_bytes() const { return weight_bytes_; }
  base::Result<double> us(const MatmulTuning& tuning, double enough_ms, int tries);
  base::Result<std::vector<float>> output(const MatmulTuning& tuning);

 private:
  explicit Product(gpu::Device& device) : bench_(device) {}
  base::Result<void> set_up(const MatmulArgs& args, uint64_t cold_bytes);
  base::Result<void> record(const MatmulTuning& tuning, size_t n_copies, gpu::CommandList& list);
  uint64_t n_outputs() const { return uint64_t{args_.max_rows} * args_.y_stride; }

  Workbench bench_;
  MatmulArgs args_;
  std::vector<GpuWeight> copies_;
  uint64_t weight_bytes_ = 0;
};

}  // namespace puna::kernels
