// Splits a product over the pool: activations are quantized once, then items of 16 weight rows by
// up to kTileRows activation rows.
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "kernels/common/cpu_variant.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {
namespace {

// Rows of x8 that lie side by side, of n_rows in all its planes.
uint32_t width_of(uint32_t n_rows) {
  if (n_rows <= 2) return n_rows;
  return n_rows > kFewRows && cpu_extensions().int8_matrix ? kMatrixRows : 4;
}
uint32_t padded_rows(uint32_t n_rows, uint32_t width) {
  return (n_rows + width - 1) / width * width;
}
uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Whether a product of float weights splits its factors into bf16. It reads x as it is, so the form
// of x is plain.
bool splits(quant::Type type, Numerics numerics, uint32_t n_rows) {
  return numerics == Numerics::kFast && is_float(type) && n_rows > kFewRows &&
         cpu_extensions().bf16_matrix;
}

// Activation rows an item covers: all when weight groups alone give every thread enough items,
// fewer when they do not. They are whole tiles of x8.
uint32_t choose_tile_rows(const MatmulJob& job, uint32_t n_groups, uint32_t n_threads) {
  const uint32_t n_rows = job.args.n_rows;
  const uint32_t most = job.x_split ? kSplitTileRows : kTileRows / job.x8.planes;
  const uint32_t width = job.x_split ? kMatrixRows : std::max(job.x8.width, 4u);
  uint32_t rows = std::min(n_rows, most);
  while (rows > 16 && n_groups * ((n_rows + rows - 1) / rows) < 4 * n_threads)
    rows = padded_rows(rows / 2, width);
  return rows;
}

// Items that make a chunk worth taking: about 4 KiB of weights times activation rows.
uint32_t choose_grain(const MatmulJob& job) {
  const uint64_t work = job.group_bytes * job.tile_rows;
  return static_cast<uint32_t>(std::clamp<uint64_t>(16384 / std::max<uint64_t>(work, 1), 1, 64));
}

// Consecutive ranges of items, one for each job.
class Ranges {
 public:
  explicit Ranges(size_t n_jobs) { ends_.reserve(n_jobs); }
  void add(uint32_t n_items) { ends_.push_back(total() + n_items); }
  uint32_t total() const { return ends_.empty() ? 0 : ends_.back(); }

  // body(job, first, last) for the parts of items [begin, end).
  template <class Body>
  void visit(uint32_t begin, uint32_t end, const Body& body) const {
    auto job =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; begin < end; ++job) {
      const uint32_t start = job == 0 ? 0 : ends_[job - 1];
      const uint32_t last = std::min(end, ends_[job]);
      if (begin < last) body(job, begin - start, last - start);
      begin = std::max(begin, last);
    }
  }

 private:
  std::vector<uint32_t> ends_;
};

// Appends the job of a product, but for its tiles; returns its groups of weight rows.
uint32_t make_job(const MatmulCpuArgs& args, std::vector<MatmulJob>& jobs) {
  const CpuMatrix& weight = *args.weight;
  MatmulJob job;
  job.args = args;
  job.type = weight.type();
  job.rows = args.n_weight_rows != 0 ? args.n_weight_rows : weight.rows();
  job.cols = weight.cols();
  if (job.args.x_stride == 0) job.args.x_stride = job.cols;
  PUNA_CHECK(args.first_row % kGroupRows == 0 && args.first_row + job.rows <= weight.rows());
  job.group_bytes = packed_group_bytes(job.type, job.cols);
  job.packed = weight.data() + args.first_row / kGroupRows * job.group_bytes;
  job.n_groups = (job.rows + kGroupRows - 1) / kGroupRows;
  PUNA_CHECK(!is_gated(args.epilogue) || job.rows % 8 == 0);
  const XForm form = matmul_cpu_x_form(job.type, weight.numerics(), args.n_rows);
  PUNA_CHECK(form == XForm::kPlain || args.scratch != nullptr);
  if (form == XForm::kBf16) job.x16 = reinterpret_cast<uint32_t*>(args.scratch);
  if (form == XForm::kInt8) {
    const uint32_t n_rows = args.n_rows * args.x_planes;
    job.x8 = quantized_rows(args.scratch, job.cols, n_rows, width_of(n_rows));
    job.x8.planes = args.x_planes;
  }
  if (splits(job.type, weight.numerics(), args.n_rows)) {
    PUNA_CHECK(args.scratch != nullptr);
    job.x_split = reinterpret_cast<uint16_t*>(args.scratch);
    job.n_groups = (job.n_groups + 1) / 2;
  }
  jobs.push_back(job);
  return job.n_groups;
}

// Items [begin, end) of int8 activations, of n_rows of them each.
void multiply_rows(const MatmulJob& job, uint32_t n_rows, uint32_t begin, uint32_t end) {
  if (begin == end) return;
  if (n_rows * job.x8.planes > kFewRows || keeps_file_rows(job.type))
    return matmul_many_items(job, begin, end);
  if (contains(SmallBlocks(), job.type)) return matmul_few_small_items(job, begin, end);
  contains(KBlocks(), job.type) ? matmul_few_k_items(job, begin, end)
                                : matmul_few_other_items(job, begin, end);
}

void multiply_int8(const MatmulJob& job, uint32_t begin, uint32_t end) {
  if (job.x8.width == kMatrixRows) return matmul_matrix_items(job, begin, end);
  const uint32_t full_tiles = job.args.n_rows / job.tile_rows;
  const uint32_t middle = std::clamp(full_tiles * job.n_groups, begin, end);
  multiply_rows(job, job.tile_rows, begin, middle);
  multiply_rows(job, job.args.n_rows % job.tile_rows, middle, end);
}

void multiply_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  if (job.x16) return matmul_bf16_items(job, begin, end);
  if (job.x_split) return matmul_split_items(job, begin, end);
  job.x8.codes ? multiply_int8(job, begin, end) : matmul_f32_items(job, begin, end);
}

}  // namespace

QuantizedRows quantized_rows(std::byte* scratch, uint32_t cols, uint32_t n_rows, uint32_t width) {
  const uint64_t rows = padded_rows(n_rows, width);
  QuantizedRows q;
  q.width = width;
  q.units = (cols + kUnitCols - 1) / kUnitCols;
  q.codes = reinterpret_cast<ActivationCode*>(scratch);
  std::byte* floats = scratch + aligned(rows * q.units * kUnitCols * sizeof(ActivationCode));
  q.scale = reinterpret_cast<float*>(floats);
  q.sums = q.scale + rows * q.units;
  q.half_sums = q.sums + rows * q.units;
  return q;
}

uint64_t matmul_cpu_scratch_bytes(uint32_t cols, uint32_t max_rows) {
  const uint64_t rows = padded_rows(max_rows, width_of(max_rows));
  const uint64_t units = (cols + kUnitCols - 1) / kUnitCols;
  const uint64_t int8 = aligned(rows * units * kUnitCols * sizeof(ActivationCode)) +
                        aligned(rows * units * 4 * sizeof(float));
  const uint64_t bf16 = aligned(rows * units * kUnitCols * sizeof(uint16_t));
  const uint64_t split = cpu_extensions().bf16_matrix && max_rows > kFewRows
                             ? rows * units * kUnitCols * 2 * sizeof(uint16_t)
                             : 0;
  return std::max({int8, bf16, split});
}

XForm matmul_cpu_x_form(quant::Type type, Numerics numerics, uint32_t n_rows) {
  if (numerics != Numerics::kFast) return XForm::kPlain;
  if (!is_float(type)) return XForm::kInt8;
  const bool bf16 = type == quant::Type::kBf16 && n_rows > kFewRows && cpu_extensions().bf16;
  return bf16 ? XForm::kBf16 : XForm::kPlain;
}

void matmul_cpu(base::ThreadPool& pool, const MatmulCpuArgs& args) {
  matmul_cpu(pool, std::span(&args, 1));
}

void matmul_cpu(base::ThreadPool& pool, std::span<const MatmulCpuArgs> products) {
  std::vector<MatmulJob> jobs;
  uint32_t n_groups = 0;
  for (const MatmulCpuArgs& args : products) {
    if (args.n_rows > 0) n_groups += make_job(args, jobs);
  }
  Ranges tiles(jobs.size());
  Ranges items(jobs.size());
  uint32_t quantize_grain = 1;
  uint32_t grain = UINT32_MAX;
  for (MatmulJob& job : jobs) {
    const MatmulCpuArgs& args = job.args;
    job.tile_rows = choose_tile_rows(job, n_groups, static_cast<uint32_t>(pool.n_threads()));
    const uint32_t width = job.x16 ? 1 : job.x_split ? kMatrixRows : job.x8.width;
    const uint32_t x_rows = args.n_rows * job.x8.planes;
    const bool quantizes = width != 0 && !args.x_in_scratch;
    tiles.add(quantizes ? (x_rows + width - 1) / width : 0);
    if (quantizes) quantize_grain = std::max(8192 / (job.cols * width), 1u);
    items.add(job.n_groups * ((args.n_rows + job.tile_rows - 1) / job.tile_rows));
    grain = std::min(grain, choose_grain(job));
  }
  const auto quantize = [&](uint32_t begin, uint32_t end) {
    tiles.visit(begin, end, [&](size_t job, uint32_t first, uint32_t last) {
      if (jobs[job].x16) return round_to_bf16(jobs[job], first, last);
      (jobs[job].x_split ? split_rows : quantize_tiles)(jobs[job], first, last);
    });
  };
  if (tiles.total() > 0) pool.run(tiles.total(), quantize_grain, std::ref(quantize));
  const auto multiply = [&](uint32_t begin, uint32_t end) {
    items.visit(begin, end, [&](size_t job, uint32_t first, uint32_t last) {
      multiply_items(jobs[job], first, last);
    });
  };
  if (items.total() > 0) pool.run(items.total(), grain, std::ref(multiply));
}

}  // namespace puna::kernels
