#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("copies between views equal the plain loop bit for bit on the CPU") {
  test::check_operation_cpu("copy");
}

}  // namespace
}  // namespace puna::kernels
