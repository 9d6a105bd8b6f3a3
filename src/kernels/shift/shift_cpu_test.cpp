#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/shift/shift_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("shift_cpu equals its reference for every shape and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const ShiftShape& shape : test::shift_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.n);
        const test::ShiftCase c(shape, step);
        auto state = c.state, expected_state = c.state;
        std::vector<float> y(c.n_y(), NAN), expected(y.size());
        shift_cpu(pool, c.args(state, y));
        shift_ref(c.args(expected_state, expected));
        CHECK(test::nmse(y, expected) < 1e-12);
        CHECK(state == expected_state);
        CHECK((state == c.state) == !shape.keeps);
      }
    }
  });
}

}  // namespace
}  // namespace puna::kernels
