#include "kernels/common/test_util.h"
#include "kernels/conv2d/conv2d_ref.h"
#include "kernels/matmul/matmul.h"
#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rows of inputs are those of any convolution, bit for bit, on the CPU") {
  test::check_operation_cpu("im2col");
}

TEST_CASE("depthwise convolutions are right for every stride, dilation and layout on the CPU") {
  test::check_operation_cpu("depthwise");
}

TEST_CASE("a convolution of images is im2col and a product on the CPU") {
  base::ThreadPool pool(2);
  for (const Conv2dShape& s : {Conv2dShape{2, 3, 28, 42, 14, 14, 14, 14},  // patches
                               Conv2dShape{1, 4, 9, 10, 3, 3, 2, 1, 1, 1},
                               Conv2dShape{1, 80, 1, 60, 1, 3, 1, 2, 0, 1}}) {  // 1D
    constexpr uint32_t kOut = 20;
    const auto x = test::normal(s.x_elements(), 1);
    const auto weights = test::normal(size_t{kOut} * s.columns(), 2);
    std::vector<float> rows(size_t{s.rows()} * s.columns()), y(size_t{s.rows()} * kOut),
        expected = y;
    im2col_cpu(pool, {x.data(), nullptr, nullptr, rows.data(), s, 0, s.rows()});
    auto matrix = CpuMatrix::create(quant::Type::kF32, kOut, s.columns(), Numerics::kExact);
    REQUIRE(matrix);
    matrix->set_rows(0, std::as_bytes(std::span(weights)));
    std::vector<std::byte> scratch(
        static_cast<size_t>(matmul_cpu_scratch_bytes(s.columns(), s.rows())) + 64);
    MatmulCpuArgs product;
    product.weight = &*matrix;
    product.x = rows.data();
    product.y = y.data();
    product.n_rows = s.rows();
    product.y_stride = kOut;
    product.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
    matmul_cpu(pool, product);
    conv2d_ref(s, x.data(), weights.data(), kOut, expected.data());
    CHECK(test::nmse(y, expected) < 1e-10);
  }
}

TEST_CASE("convolutions that cannot be are refused with what is wrong") {
  std::vector<KernelCall> calls;
  const Conv2dShape good{1, 3, 8, 8, 3, 3};
  CHECK(im2col({}, {"c", {}, {}, good, 0, good.rows()}, calls));
  CHECK_FALSE(im2col({}, {"c", {}, {}, good, 1, good.rows()}, calls));
  CHECK_FALSE(im2col({}, {"c", {}, {}, good, 0, 0}, calls));
  Conv2dShape bad = good;
  bad.stride_w = 0;
  CHECK_FALSE(check_conv2d("c", bad));
  bad = good;
  bad.dilation_h = 4;
  const auto refused = check_conv2d("patch", bad);
  REQUIRE(!refused);
  CHECK(
      refused.error().text() ==
      "Convolution patch has a kernel of 3x3 at dilations 4, 1 on an image of 8x8 padded by 0, 0; "
      "it must fit.");
  bad = good;
  bad.height = bad.width = 65536;
  CHECK_FALSE(check_conv2d("c", bad));
  CHECK(calls.size() == 1);
}

}  // namespace
}  // namespace puna::kernels
