#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("the Walsh-Hadamard transform equals the product with its matrix on the GPU") {
  test::check_operation_gpu("hadamard");
}

}  // namespace
}  // namespace puna::kernels
