#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("images are resized as their plain form does, corners aligned or not on the GPU") {
  test::check_operation_gpu("resize");
}

TEST_CASE("images are padded by a value, their edge, mirrored and wrapped on the GPU") {
  test::check_operation_gpu("pad");
}

}  // namespace
}  // namespace puna::kernels
