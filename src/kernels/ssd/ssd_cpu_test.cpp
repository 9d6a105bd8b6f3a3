#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/ssd/ssd_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("ssd_cpu equals its reference for every shape and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const SsdShape& shape : test::ssd_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.n_state);
        const test::SsdCase c(shape, step);
        auto state = c.state, expected_state = c.state;
        std::vector<float> y(c.n_y(), NAN), expected(y.size());
        ssd_cpu(pool, c.args(state, y));
        ssd_ref(c.args(expected_state, expected));
        CHECK(test::nmse(y, expected) < 1e-11);
        CHECK(test::nmse(state, expected_state) < 1e-11);
      }
    }
  });
}

}  // namespace
}  // namespace puna::kernels
