// Products of one x side by side in one dispatch give what they give apart, bit for bit.
#include <doctest/doctest.h>

#include "kernels/common/beside.h"
#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_weight.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kCols = 512;

struct Product {
  quant::Type type;
  uint32_t rows;
};

MatmulArgs described(test::GpuHarness& gpu, const Product& product, uint32_t max_rows,
                     Numerics numerics, bool bias) {
  MatmulArgs args;
  args.label = quant::info(product.type).name;
  const auto file = quant::random_rows(product.type, product.rows, kCols, product.rows);
  args.weight = test::upload_weight(gpu, product.type, product.rows, kCols, file);
  if (bias) args.bias = gpu.upload(test::normal(product.rows, 8));
  args.numerics = numerics;
  args.max_rows = max_rows;
  return args;
}

void check(test::GpuHarness& gpu, const std::vector<Product>& products, uint32_t n_rows,
           uint32_t max_rows, Numerics numerics) {
  CAPTURE(quant::info(products.back().type).name);
  CAPTURE(max_rows);
  CAPTURE(static_cast<int>(numerics));
  const Slice step = gpu.step(n_rows), x = gpu.upload(test::normal(size_t{n_rows} * kCols, 5));
  uint32_t columns = 0;
  for (const Product& product : products) columns += product.rows;
  const Slice apart = gpu.output(uint64_t{n_rows} * columns * 4);
  const Slice together = gpu.output(uint64_t{n_rows} * columns * 4);
  std::vector<KernelCall> apart_calls, together_calls;
  uint32_t column = 0;
  std::optional<Slice> scratch;
  const bool biased = products.size() == 2;  // of more there are not enough bindings
  for (const Product& product : products) {
    MatmulArgs args = described(gpu, product, max_rows, numerics, biased);
    args.step = step;
    args.x = x;
    args.y_stride = columns;
    args.y_column = column;
    column += product.rows;
    if (const uint64_t bytes = matmul_scratch_bytes(gpu.info(), args); bytes > 0) {
      args.x_in_scratch = scratch.has_value();
      if (!scratch) scratch = gpu.output(bytes);
      args.scratch = *scratch;
    }
    args.y = apart;
    REQUIRE(matmul(gpu.info(), args, apart_calls));
    args.y = together;
    REQUIRE(matmul(gpu.info(), args, together_calls));
    if (args.y_column == 0) continue;
    const auto both = beside(gpu.info(), together_calls.end()[-2], together_calls.back());
    REQUIRE(both);
    together_calls.pop_back();
    together_calls.back() = *both;
  }
  gpu.run(apart_calls, {.n_tokens = n_rows, .n_outputs = n_rows});
  gpu.run(together_calls, {.n_tokens = n_rows, .n_outputs = n_rows});
  CHECK(together_calls.size() + products.size() - 1 == apart_calls.size());
  CHECK(gpu.read<uint32_t>(apart) == gpu.read<uint32_t>(together));
}

void check_all(test::GpuHarness& gpu) {
  using quant::Type;
  for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
    check(gpu, {{Type::kQ2_K, 100}, {Type::kQ4_K, 36}}, 1, 1, numerics);
    check(gpu, {{Type::kQ4_K, 64}, {Type::kQ6_K, 68}}, 3, 4, numerics);
    check(gpu, {{Type::kQ5_K, 40}, {Type::kQ8_0, 8}, {Type::kQ5_K, 24}}, 1, 1, numerics);
    check(gpu, {{Type::kIQ2_XS, 32}, {Type::kIQ4_NL, 32}}, 1, 1, numerics);
  }
}

TEST_CASE("products side by side on the GPU equal the same products apart") {
  if (auto gpu = test::GpuHarness::open()) check_all(*gpu);
}
TEST_CASE("products side by side equal the same products apart on a device without options") {
  if (auto gpu = test::GpuHarness::open(test::Features::kBaseline)) check_all(*gpu);
}

}  // namespace
}  // namespace puna::kernels
