#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("softmax of rows is right with bias, slopes and sinks on the CPU") {
  test::check_operation_cpu("softmax");
}

}  // namespace
}  // namespace puna::kernels
