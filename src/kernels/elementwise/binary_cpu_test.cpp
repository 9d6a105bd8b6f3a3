#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE(
    "sums, differences, products and quotients with elements, rows, columns and numbers are right "
    "on the CPU") {
  test::check_operation_cpu("binary");
}

}  // namespace
}  // namespace puna::kernels
