#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rows are sorted in either order, equal elements by index and NaN last on the GPU") {
  test::check_operation_gpu("sort");
}

}  // namespace
}  // namespace puna::kernels
