#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("sums, means, largest elements and running sums of rows are right on the CPU") {
  test::check_operation_cpu("reduce");
}

}  // namespace
}  // namespace puna::kernels
