#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("images are resized as their plain form does, corners aligned or not on the CPU") {
  test::check_operation_cpu("resize");
}

TEST_CASE("images are padded by a value, their edge, mirrored and wrapped on the CPU") {
  test::check_operation_cpu("pad");
}

}  // namespace
}  // namespace puna::kernels
