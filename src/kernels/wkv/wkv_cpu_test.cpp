#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/wkv/wkv_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("wkv_cpu equals its reference for every rule, shape and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const WkvShape& shape : test::wkv_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.head_dim);
        CAPTURE(shape.n_constants());
        const test::WkvCase c(shape, step);
        auto state = c.state, expected_state = c.state;
        std::vector<float> y(c.n_y(), NAN), expected(y.size()), extra(y), expected_extra(y.size());
        wkv_cpu(pool, c.args(state, y, extra));
        wkv_ref(c.args(expected_state, expected, expected_extra));
        CHECK(test::nmse(y, expected) < 1e-11);
        CHECK(test::nmse(state, expected_state) < 1e-11);
        if (c.has_extra()) CHECK(test::nmse(extra, expected_extra) < 1e-11);
      }
    }
  });
}

TEST_CASE("wkv_cpu gives the same for a text in one run and in several") {
  base::ThreadPool pool(2);
  for (const WkvShape& shape : test::wkv_shapes()) {
    const test::WkvCase whole(shape, test::step_of({{1, 0, 30}}));
    auto state = whole.state;
    std::vector<float> y(whole.n_y()), extra(y);
    wkv_cpu(pool, whole.args(state, y, extra));
    auto state_of_parts = whole.state;
    std::vector<float> parts(y.size()), extra_parts(y.size());
    for (const auto& [first, n] : {std::pair{0u, 7u}, {7u, 1u}, {8u, 22u}}) {
      const test::TestStep step = test::step_of({{1, static_cast<int32_t>(first), n}});
      WkvCpuArgs args = whole.args(state_of_parts, parts, extra_parts);
      args.step = step.cpu();
      args.in += size_t{first} * shape.in_stride;
      args.values += size_t{first} * shape.n();
      args.y += size_t{first} * shape.n();
      if (args.extra) args.extra += size_t{first} * shape.n();
      wkv_cpu(pool, args);
    }
    CHECK(parts == y);
    CHECK(extra_parts == extra);
    CHECK(state_of_parts == state);
  }
}

}  // namespace
}  // namespace puna::kernels
