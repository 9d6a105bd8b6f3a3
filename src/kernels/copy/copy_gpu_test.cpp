#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("copies between views equal the plain loop bit for bit on the GPU") {
  test::check_operation_gpu("copy");
}

}  // namespace
}  // namespace puna::kernels
