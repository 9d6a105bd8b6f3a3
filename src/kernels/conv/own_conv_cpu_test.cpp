#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("a convolution over rows of a step equals its plain loop on the CPU") {
  test::check_operation_cpu("own_conv");
}

}  // namespace
}  // namespace puna::kernels
