#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rows are sorted in either order, equal elements by index and NaN last on the CPU") {
  test::check_operation_cpu("sort");
}

}  // namespace
}  // namespace puna::kernels
