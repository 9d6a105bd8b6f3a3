// Prompts of few tokens run in classes of their own: what they give does not depend on it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/testing/fast_compiler.h"
#include "engine/testing/load_engine.h"
#include "engine/testing/prompts.h"
#include "models/testing/tiny_model.h"

using namespace puna;
using engine::Engine;

namespace {

// So wide that workgroups share K, where there are matrix units. Null device: the CPU.
std::unique_ptr<Engine> load(std::unique_ptr<gpu::Device> device, kernels::Numerics numerics) {
  fixtures::TinyShape shape = fixtures::wide_shape();
  shape.n_layers = 1;
  engine::EngineOptions options;
  options.numerics = numerics;
  options.n_threads = 2;
  options.all_logits = true;
  return engine::test::load_engine(fixtures::tiny_model(shape), std::move(device),
                                   std::move(options));
}

// What follows each token of a prompt of n, [n, vocabulary].
std::vector<float> logits(Engine& engine, uint32_t n) {
  const std::vector<int32_t> tokens = engine::test::test_prompt(n, 0, engine.config().vocab);
  std::vector<float> out(size_t{n} * engine.n_out());
  const auto done = base::run_until(engine.logits(0, tokens, out), [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return out;
}

void check_near(Engine& a, Engine& b, float tolerance) {
  for (const uint32_t n : {2u, 20u, 64u, 65u, 128u, 140u, 256u}) {
    CAPTURE(n);
    const std::vector<float> of_a = logits(a, n), of_b = logits(b, n);
    const auto [lowest, highest] = std::ranges::minmax(of_b);
    float worst = 0;
    for (size_t i = 0; i < of_a.size(); ++i) worst = std::max(worst, std::abs(of_a[i] - of_b[i]));
    CHECK(highest - lowest > 0);
    CHECK(worst <= tolerance * (highest - lowest));
  }
}

TEST_CASE("short prompts give in exact numerics what the CPU gives") {
  auto device = engine::test::open_gpu();
  if (!device) return;
  const auto gpu = load(std::make_unique<engine::test::FastCompiler>(std::move(device)),
                        kernels::Numerics::kExact);
  const auto cpu = load(nullptr, kernels::Numerics::kExact);
  check_near(*gpu, *cpu, 1e-3f);
}

TEST_CASE("short prompts give in fast numerics what they give in the class of whole steps") {
  auto device = engine::test::open_gpu();
  if (!device) return;
  const auto gpu = load(std::make_unique<engine::test::FastCompiler>(std::move(device)),
                        kernels::Numerics::kFast);
  const auto whole = load(engine::test::open_gpu(), kernels::Numerics::kFast);
  check_near(*gpu, *whole, 2e-2f);
}

}  // namespace
