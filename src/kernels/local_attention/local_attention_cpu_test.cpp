#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("attention to the rows right before equals its plain loop on the CPU") {
  test::check_operation_cpu("local_attention");
}

}  // namespace
}  // namespace puna::kernels
