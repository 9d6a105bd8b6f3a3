#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("softmax of rows is right with bias, slopes and sinks on the GPU") {
  test::check_operation_gpu("softmax");
}

}  // namespace
}  // namespace puna::kernels
