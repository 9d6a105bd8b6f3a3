#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE(
    "sums, differences, products and quotients with elements, rows, columns and numbers are right "
    "on the GPU") {
  test::check_operation_gpu("binary");
}

}  // namespace
}  // namespace puna::kernels
