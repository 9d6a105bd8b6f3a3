#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("sums, means, largest elements and running sums of rows are right on the GPU") {
  test::check_operation_gpu("reduce");
}

}  // namespace
}  // namespace puna::kernels
