#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rows are taken and put by their indices on the GPU") {
  test::check_operation_gpu("rows");
}

}  // namespace
}  // namespace puna::kernels
