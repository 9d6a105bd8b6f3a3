#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/embed/embed_ref.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

TEST_CASE("scale and softcap equal their references at every length") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const uint64_t n : {1u, 15u, 64u, 4097u, 20000u}) {
      CAPTURE(n);
      std::vector<float> y = test::normal(n + 1, 2, 20.0f);  // one more, which stays
      std::vector<float> expected = y;
      scale_cpu(pool, y.data(), n, 0.3f);
      scale_ref(expected.data(), n, 0.3f);
      CHECK(y == expected);
      softcap_cpu(pool, y.data(), n, 5.0f);
      softcap_ref(expected.data(), n, 5.0f);
      CHECK(test::nmse(y, expected) < 1e-12);
      CHECK(y[n] == expected[n]);
    }
  });
}

TEST_CASE("gate equals its reference with a gate for each element and with one for a row") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const uint32_t n : {1u, 20u, 1536u}) {
      for (const uint32_t n_gates : {1u, n}) {
        const std::vector<float> x = test::normal(size_t{5} * n_gates, 1, 20.0f);
        std::vector<float> y = test::normal(size_t{5} * n, 2), expected = y;
        gate_cpu(pool, x.data(), y.data(), 5, n, n_gates);
        gate_ref(x.data(), expected.data(), 5, n, n_gates);
        CHECK(test::nmse(y, expected) < 1e-12);
      }
    }
  });
}

TEST_CASE("glu equals its reference, and large gates of either sign stay finite") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const Activation activation : kActivations) {
      for (const uint32_t n : {1u, 20u, 1536u}) {
        std::vector<float> gate_up = test::normal(size_t{5} * 2 * n, 1, 3.0f);
        gate_up[0] = 300.0f;
        gate_up[2 * n] = -300.0f;
        std::vector<float> y(size_t{5} * n), expected(size_t{5} * n);
        glu_cpu(pool, gate_up.data(), y.data(), 5, n, activation);
        glu_ref(gate_up.data(), expected.data(), 5, n, activation);
        CHECK(test::nmse(y, expected) < 1e-12);
      }
    }
  });
}

TEST_CASE("embed_cpu decodes and scales the rows of its tokens for every weight type") {
  base::ThreadPool pool(2);
  for (const quant::TypeInfo& info : quant::types()) {
    CAPTURE(info.name);
    const uint32_t hidden = info.block_elements * 2;
    const std::vector<std::byte> file = quant::random_rows(info.type, 50, hidden, 1);
    const std::vector<float> table = test::decode_rows(info.type, file);
    auto weight = CpuMatrix::create(info.type, 50, hidden, Numerics::kFast);
    REQUIRE(weight.has_value());
    weight->set_rows(0, file);
    const std::vector<int32_t> tokens = {49, 0, 17, 17, 16, 48, 3};
    std::vector<float> x(tokens.size() * hidden), expected(x.size());
    embed_cpu(
        pool,
        {.weight = &*weight, .rows = tokens.data(), .n_tokens = 7, .x = x.data(), .scale = 24.0f});
    embed_ref(table.data(), hidden, tokens.data(), 7, 24.0f, expected.data());
    CHECK(x == expected);
    // Row 0 added to what is there.
    embed_cpu(pool, {.weight = &*weight, .n_tokens = 7, .x = x.data(), .scale = 2.0f, .add = true});
    embed_ref(table.data(), hidden, nullptr, 7, 2.0f, expected.data(), /*add=*/true);
    CHECK(test::nmse(x, expected) < 1e-12);
  }
}

}  // namespace
}  // namespace puna::kernels
