// Speed of single CPU products, beside what a plain read of memory gives.
//   puna_matmul_cpu_bench [threads=2] [variant]
// The shapes are SmolLM2-135M's layers and head. `GB/s` counts the weights as packed, so a mat-vec
// can be held against the first line.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The best of what fits half a second: others share the machine.
template <class Body>
double best_seconds(const Body& body) {
  body();
  double best = 1e9;
  for (const double end = seconds() + 0.5; seconds() < end;) {
    const double start = seconds();
    body();
    best = std::min(best, seconds() - start);
  }
  return best;
}

void plain_read(base::ThreadPool& pool) {
  const std::vector<uint64_t> words(12 << 20, 1);  // 96 MiB, about the weights of SmolLM2-135M
  std::atomic<uint64_t> total = 0;
  const auto sum = [&](uint32_t begin, uint32_t end) {
    const uint64_t* first = words.data() + size_t{begin} * 1024;
    total += std::accumulate(first, first + size_t{end - begin} * 1024, uint64_t{0});
  };
  const double time = best_seconds(
      [&] { pool.run(static_cast<uint32_t>(words.size() / 1024), 64, std::ref(sum)); });
  fmt::print("plain read of 96 MiB: {:.1f} GB/s\n",
             static_cast<double>(words.size()) * 8e-9 / time);
}

void product(base::ThreadPool& pool, quant::Type type, Numerics numerics, uint32_t rows,
             uint32_t cols, uint32_t n_rows) {
  auto weight = CpuMatrix::create(type, rows, cols, numerics);
  if (!weight) return;
  const std::vector<std::byte> some = quant::random_rows(type, CpuMatrix::kRowGroup, cols, 1);
  for (uint32_t r = 0; r < rows; r += CpuMatrix::kRowGroup) weight->set_rows(r, some);
  const std::vector<float> x = test::normal(size_t{n_rows} * cols, 2);
  std::vector<float> y(size_t{n_rows} * rows);
  std::vector<std::byte> memory(matmul_cpu_scratch_bytes(cols, n_rows) + 64);
  std::byte* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  const MatmulCpuArgs args{.weight = &*weight,
                           .x = x.data(),
                           .y = y.data(),
                           .n_rows = n_rows,
                           .y_stride = rows,
                           .scratch = scratch};
  const double time = best_seconds([&] { matmul_cpu(pool, args); });
  fmt::print("{:5} {:5} {:>5} x {:<4} {:>4} rows: {:8.3f} ms {:7.1f} GOPS {:6.1f} GB/s\n",
             quant::info(type).name, numerics == Numerics::kFast ? "fast" : "exact", rows, cols,
             n_rows, time * 1e3, 2e-9 * rows * cols * n_rows / time,
             static_cast<double>(weight->bytes()) * 1e-9 / time);
}

}  // namespace
}  // namespace puna::kernels

int main(int argc, char** argv) {
  using namespace puna::kernels;
  using puna::quant::Type;
  puna::base::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 2);
  if (argc > 2 && !set_cpu_variant(argv[2])) {
    fmt::print(stderr, "error: no CPU variant {} here\n", argv[2]);
    return 2;
  }
  fmt::print("{} threads, {}\n", pool.n_threads(), cpu_variant());
  plain_read(pool);
  for (const uint32_t n_rows : {1u, 4u, 20u, 512u}) {
    for (const auto& [rows, cols] : {std::pair{576u, 576u}, {3072u, 576u}, {576u, 1536u}}) {
      product(pool, Type::kQ4_1, Numerics::kFast, rows, cols, n_rows);
    }
  }
  product(pool, Type::kQ8_0, Numerics::kFast, 49152, 576, 1);
  for (const puna::quant::TypeInfo& info : puna::quant::types()) {
    for (const uint32_t n_rows : {1u, 512u})
      product(pool, info.type, Numerics::kFast, 3072, 768, n_rows);
  }
  for (const Type type : {Type::kQ4_0, Type::kQ6_K}) {
    for (const uint32_t n_rows : {1u, 512u})
      product(pool, type, Numerics::kExact, 3072, 768, n_rows);
  }
  return 0;
}
