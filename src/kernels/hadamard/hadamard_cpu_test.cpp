#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("the Walsh-Hadamard transform equals the product with its matrix on the CPU") {
  test::check_operation_cpu("hadamard");
}

}  // namespace
}  // namespace puna::kernels
