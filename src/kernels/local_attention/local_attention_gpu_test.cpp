#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("attention to the rows right before equals its plain loop on the GPU") {
  test::check_operation_gpu("local_attention");
}

}  // namespace
}  // namespace puna::kernels
