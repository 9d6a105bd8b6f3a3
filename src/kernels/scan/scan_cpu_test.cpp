#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/scan/scan_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("scan_cpu equals its reference for every shape and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const ScanShape& shape : test::scan_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.n_channels);
        CAPTURE(shape.n_state);
        const test::ScanCase c(shape, step);
        auto state = c.state, expected_state = c.state;
        std::vector<float> y(c.n_y(), NAN), expected(y.size());
        scan_cpu(pool, c.args(state, y));
        scan_ref(c.args(expected_state, expected));
        CHECK(test::nmse(y, expected) < 1e-11);
        CHECK(test::nmse(state, expected_state) < 1e-11);
      }
    }
  });
}

TEST_CASE("scan_cpu gives the same for a text in one run and in several") {
  base::ThreadPool pool(2);
  const ScanShape shape = test::scan_shapes()[1];
  const test::ScanCase whole(shape, test::step_of({{1, 0, 30}}));
  auto state = whole.state;
  std::vector<float> y(whole.n_y());
  scan_cpu(pool, whole.args(state, y));
  auto state_of_parts = whole.state;
  std::vector<float> parts(y.size());
  for (const auto& [first, n] : {std::pair{0u, 7u}, {7u, 1u}, {8u, 22u}}) {
    const test::TestStep step = test::step_of({{1, static_cast<int32_t>(first), n}});
    std::vector<float> rows(size_t{n} * shape.n_channels);
    ScanCpuArgs args = whole.args(state_of_parts, rows);
    args.step = step.cpu();
    args.x += size_t{first} * shape.n_channels;
    args.dt += size_t{first} * shape.n_channels;
    args.bc += size_t{first} * 2 * shape.n_state;
    args.in += size_t{first} * shape.in_stride;
    scan_cpu(pool, args);
    std::ranges::copy(rows, parts.begin() + static_cast<std::ptrdiff_t>(first) * shape.n_channels);
  }
  CHECK(parts == y);
  CHECK(state_of_parts == state);
}

}  // namespace
}  // namespace puna::kernels
