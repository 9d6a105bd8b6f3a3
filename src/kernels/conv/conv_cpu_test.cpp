#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/conv/conv_ref.h"
#include "kernels/testing/runs.h"

namespace puna::kernels {
namespace {

TEST_CASE("conv_cpu equals its reference for every form, number of taps and step") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const ConvForm form : {ConvForm::kPlain, ConvForm::kSilu, ConvForm::kGated}) {
      for (const uint32_t n_taps : {2u, 3u, 4u, 8u}) {
        for (const uint32_t n_channels : {1u, 66u, 128u}) {
          for (const test::TestStep& step : test::state_steps()) {
            CAPTURE(n_taps);
            CAPTURE(n_channels);
            const bool bias = n_taps != 3;
            const ConvShape shape{n_channels, n_taps, 3 * n_channels + 5, 5, bias, form};
            const auto x = test::normal(size_t{step.n_tokens()} * shape.x_stride, 1);
            const auto w = test::normal(size_t{n_channels} * n_taps, 2);
            const auto b = test::normal(n_channels, 3);
            auto state =
                test::normal(test::kStateSequences * static_cast<size_t>(shape.state_floats()), 4);
            auto expected_state = state;
            std::vector<float> y(size_t{step.n_tokens()} * n_channels, NAN), expected(y.size());
            ConvCpuArgs args{step.cpu(),   x.data(), w.data(), bias ? b.data() : nullptr,
                             state.data(), y.data(), shape};
            conv_cpu(pool, args);
            args.state = expected_state.data();
            args.y = expected.data();
            conv_ref(args);
            CHECK(test::nmse(y, expected) < 1e-12);
            CHECK(test::nmse(state, expected_state) < 1e-12);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace puna::kernels
