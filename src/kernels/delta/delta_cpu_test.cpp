#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/delta/delta_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("delta_cpu equals its reference for every shape and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const DeltaShape& shape : test::delta_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.key_dim);
        const test::DeltaCase c(shape, step);
        auto state = c.state, expected_state = c.state;
        std::vector<float> y(c.n_y(), NAN), expected(y.size());
        delta_cpu(pool, c.args(state, y));
        delta_ref(c.args(expected_state, expected));
        CHECK(test::nmse(y, expected) < 1e-11);
        CHECK(test::nmse(state, expected_state) < 1e-11);
      }
    }
  });
}

}  // namespace
}  // namespace puna::kernels
