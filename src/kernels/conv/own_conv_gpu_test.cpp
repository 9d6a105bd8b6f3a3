#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("a convolution over rows of a step equals its plain loop on the GPU") {
  test::check_operation_gpu("own_conv");
}

}  // namespace
}  // namespace puna::kernels
