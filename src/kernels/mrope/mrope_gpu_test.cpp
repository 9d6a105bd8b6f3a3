#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rope of several coordinates is right for every order of sections on the GPU") {
  test::check_operation_gpu("mrope");
}

}  // namespace
}  // namespace puna::kernels
