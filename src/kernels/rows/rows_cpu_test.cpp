#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rows are taken and put by their indices on the CPU") {
  test::check_operation_cpu("rows");
}

}  // namespace
}  // namespace puna::kernels
