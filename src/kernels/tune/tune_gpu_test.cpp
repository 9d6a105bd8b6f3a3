// Candidates of real kernels on an adapter: all that a search may try give the default's result.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/testing/gpu_harness.h"
#include "kernels/tune/tune.h"

using namespace puna;
using namespace puna::kernels;

namespace {

MatmulArgs product(quant::Type type, uint32_t max_rows, Numerics numerics, Epilogue epilogue) {
  MatmulArgs args;
  args.label = "product";
  args.weight = {type, 256, 512, {{{}, 0, 128}, {{}, 128, 128}}};
  args.max_rows = max_rows;
  args.numerics = numerics;
  args.epilogue = epilogue;
  return args;
}

void check_all_alike(Subject& subject) {
  CAPTURE(subject.key());
  const auto expected = subject.output(subject.portable());
  REQUIRE_MESSAGE(expected, expected.error().text());
  const auto candidates = subject.neighbours(subject.portable());
  CHECK(!candidates.empty());
  for (const KnobValues& knobs : candidates) {
    for (const auto& [name, value] : knobs) CAPTURE(name + "=" + std::to_string(value));
    const auto got = subject.output(knobs);
    REQUIRE_MESSAGE(got, got.error().text());
    double error = 0, power = 0;
    for (size_t i = 0; i < expected->size(); ++i) {
      error += std::pow(double{(*expected)[i]} - double{(*got)[i]}, 2);
      power += std::pow(double{(*expected)[i]}, 2);
    }
    CHECK(power > 0);
    CHECK(error <= kSameResult * power);
  }
}

}  // namespace

TEST_CASE("every candidate of a product gives the default's result") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const MatmulArgs& args :
       {product(quant::Type::kQ4_0, 1, Numerics::kFast, Epilogue::kStore),
        product(quant::Type::kQ6_K, 1, Numerics::kFast, Epilogue::kSwiGlu),
        product(quant::Type::kQ4_0, 4, Numerics::kExact, Epilogue::kGeGlu),
        product(quant::Type::kQ4_0, 32, Numerics::kFast, Epilogue::kStore)}) {
    const auto subject = product_subject(gpu->device(), args);
    REQUIRE_MESSAGE(subject, subject.error().text());
    check_all_alike(**subject);
  }
}

TEST_CASE("every candidate of attention gives the default's result") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t max_rows : {1u, 64u}) {
    AttentionArgs args;
    args.label = "attn";
    args.kv = {KvType::kF16, 0, 2, 64};
    args.n_heads = 6;
    args.scale = 0.125f;
    args.max_rows = max_rows;
    const auto subject = attention_subject(gpu->device(), args, /*n_kv=*/400);
    REQUIRE_MESSAGE(subject, subject.error().text());
    check_all_alike(**subject);
  }
}

TEST_CASE("the kinds of activations are both timed") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const auto times = measure_activations(gpu->device());
  REQUIRE_MESSAGE(times, times.error().text());
  CHECK(times->decode.int8_us > 0);
  CHECK(times->decode.float_us > 0);
  const bool int8 = times->decode.int8_us <= times->decode.float_us;
  CHECK(times->decode.choice == (int8 ? Activations::kInt8 : Activations::kFloat));
  MESSAGE("took ", times->took_ms, " ms");
}
