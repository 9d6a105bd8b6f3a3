#include <utility>

#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/conv2d/conv2d_ref.h"
#include "kernels/matmul/matmul.h"
#include "kernels/testing/gpu_weight.h"
#include "kernels/testing/operation_gpu_test.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

// Rows are taken in two goes, as one that has more than a step's would be.
void check_dense(test::GpuHarness& gpu, quant::Type type, const Conv2dShape& s) {
  constexpr uint32_t kOut = 24;
  CAPTURE(quant::info(type).name);
  CAPTURE(s.columns());
  const auto x = test::normal(s.x_elements(), 1);
  const auto file = quant::random_rows(type, kOut, s.columns(), 2);
  const auto weights = test::decode_rows(type, file);
  std::vector<float> got, expected(size_t{s.rows()} * kOut);
  const Slice image = gpu.upload(x);
  const GpuWeight weight = test::upload_weight(gpu, type, kOut, s.columns(), file);
  for (const auto& [first, n] : {std::pair{0u, s.rows() - 1}, std::pair{s.rows() - 1, 1u}}) {
    MatmulArgs product;
    product.label = "product";
    product.weight = weight;
    product.step = gpu.step(n);
    product.x = gpu.output(uint64_t{n} * s.columns() * 4);
    product.y = gpu.output(uint64_t{n} * kOut * 4);
    product.y_stride = kOut;
    product.max_rows = n == 1 ? 1 : kMaxStepTokens;
    if (const uint64_t bytes = matmul_scratch_bytes(gpu.info(), product); bytes > 0)
      product.scratch = gpu.output(bytes);
    std::vector<KernelCall> calls;
    REQUIRE(im2col(gpu.info(), {"inputs", image, product.x, s, first, n}, calls));
    REQUIRE(matmul(gpu.info(), product, calls));
    gpu.run(calls, {.n_tokens = n});
    const auto part = gpu.read<float>(product.y);
    got.insert(got.end(), part.begin(), part.end());
  }
  conv2d_ref(s, x.data(), weights.data(), kOut, expected.data());
  CHECK(test::nmse(got, expected) < 1e-10);
}

TEST_CASE("rows of inputs are those of any convolution, bit for bit, on the GPU") {
  test::check_operation_gpu("im2col");
}

TEST_CASE("depthwise convolutions are right for every stride, dilation and layout on the GPU") {
  test::check_operation_gpu("depthwise");
}

TEST_CASE("a convolution of images is im2col and a product on the GPU, for weights of any type") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const quant::Type type : {quant::Type::kF32, quant::Type::kF16, quant::Type::kQ8_0}) {
      for (const Conv2dShape& s : {Conv2dShape{2, 32, 14, 21, 7, 7, 7, 7},  // patches
                                   Conv2dShape{1, 32, 9, 10, 3, 3, 2, 1, 1, 1},
                                   Conv2dShape{1, 80, 1, 60, 1, 2, 1, 2, 0, 1}}) {  // 1D
        check_dense(*gpu, type, s);
      }
    }
  }
}

}  // namespace
}  // namespace puna::kernels
