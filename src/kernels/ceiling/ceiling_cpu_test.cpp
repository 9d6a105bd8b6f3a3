#include <doctest/doctest.h>

#include "kernels/ceiling/ceiling.h"

using namespace puna;
using namespace puna::kernels;

TEST_CASE("the ceilings of the CPU are measured: every figure is a positive number") {
  base::ThreadPool pool(2);
  const auto ceilings = measure_ceilings(pool);
  REQUIRE_MESSAGE(ceilings, ceilings.error().text());
  CHECK(ceilings->read_gb_per_s > 0);
  CHECK(ceilings->f32_tflops > 0);
  CHECK(ceilings->f16_tflops == 0);  // f16 is a way to store here
  CHECK(ceilings->int8_tops > 0);
}
