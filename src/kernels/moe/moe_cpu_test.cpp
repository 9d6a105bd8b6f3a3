// The CPU forms of route.h and moe.h against their references.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/moe/moe_ref.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

void check_route(const RouteParams& params, uint32_t n_rows, bool with_bias = false) {
  INFO(params.n_chosen << " of " << params.n_experts << ", scores "
                       << static_cast<int>(params.scores) << ", groups " << params.n_groups);
  const std::vector<float> logits = test::normal(size_t{n_rows} * params.n_experts, 3, 2.0f);
  const std::vector<float> bias = test::normal(params.n_experts, 4);
  std::vector<uint32_t> experts(size_t{n_rows} * params.n_chosen), want_experts = experts;
  std::vector<float> weights(experts.size()), want_weights(experts.size());
  RouteCpuArgs args;
  args.logits = logits.data();
  args.selection_bias = with_bias ? bias.data() : nullptr;
  args.experts = want_experts.data();
  args.weights = want_weights.data();
  args.n_rows = n_rows;
  args.params = params;
  route_ref(args);
  args.experts = experts.data();
  args.weights = weights.data();
  base::ThreadPool pool(2);
  route_cpu(pool, args);
  CHECK(experts == want_experts);
  CHECK(test::nmse(weights, want_weights) <= 1e-12);
}

TEST_CASE("a router's choice and weights are right for every kind of score") {
  for (const ExpertScores scores :
       {ExpertScores::kSoftmax, ExpertScores::kSigmoid, ExpertScores::kSoftmaxOfChosen}) {
    for (const bool normalise : {false, true}) {
      RouteParams params{
          .n_experts = 60, .n_chosen = 4, .scores = scores, .normalise = normalise, .scale = 2.5f};
      check_route(params, 50);
      check_route(params, 50, /*with_bias=*/true);
      params.n_groups = 6;
      params.groups_chosen = 2;
      check_route(params, 50, /*with_bias=*/true);
    }
  }
  check_route({.n_experts = 16, .n_chosen = 2, .scores = ExpertScores::kSparseMixer}, 200);
  check_route({.n_experts = 1, .n_chosen = 1}, 3);
  check_route({.n_experts = 8, .n_chosen = 8}, 3);
  check_route({.n_experts = 512, .n_chosen = 10, .normalise = true}, 3);
}

TEST_CASE("of equal experts the first are chosen") {
  const std::vector<float> logits(8, 0.5f);
  std::vector<uint32_t> experts(3);
  std::vector<float> weights(3);
  RouteCpuArgs args;
  args.logits = logits.data();
  args.experts = experts.data();
  args.weights = weights.data();
  args.n_rows = 1;
  args.params = {.n_experts = 8, .n_chosen = 3, .normalise = true};
  base::ThreadPool pool(1);
  route_cpu(pool, args);
  CHECK(experts == std::vector<uint32_t>{0, 1, 2});
  CHECK(weights[2] == doctest::Approx(1.0 / 3));
}

TEST_CASE("a sparse mixer weighs an expert by those near it that were not chosen before it") {
  // 3.95 is near 4, 3.9 is not; of what is left 3.9 is near 3.95.
  const std::vector<float> logits = {3.9f, 4.0f, -8.0f, 3.95f};
  std::vector<uint32_t> experts(2);
  std::vector<float> weights(2);
  RouteCpuArgs args;
  args.logits = logits.data();
  args.experts = experts.data();
  args.weights = weights.data();
  args.n_rows = 1;
  args.params = {.n_experts = 4, .n_chosen = 2, .scores = ExpertScores::kSparseMixer};
  base::ThreadPool pool(1);
  route_cpu(pool, args);
  CHECK(experts == std::vector<uint32_t>{1, 3});
  const double share = 1 / (1 + std::exp(-0.05));
  CHECK(weights[0] == doctest::Approx(share));
  CHECK(weights[1] == doctest::Approx(share));
}

TEST_CASE("parameters of a router that cannot be are refused by name") {
  const auto text = [](const RouteParams& params) {
    const auto result = kernels::check_route("r", params);
    return result ? std::string() : result.error().text();
  };
  CHECK(text({.n_experts = 0, .n_chosen = 1}).find("has 0 experts") != std::string::npos);
  CHECK(text({.n_experts = 4, .n_chosen = 5}).find("chooses 5 of 4") != std::string::npos);
  CHECK(text({.n_experts = 8, .n_chosen = 2, .n_groups = 3}).find("in 3 groups") !=
        std::string::npos);
  CHECK(text({.n_experts = 8, .n_chosen = 5, .n_groups = 4, .groups_chosen = 2})
            .find("from 2 of 4 groups") != std::string::npos);
  CHECK(text({.n_experts = 8, .n_chosen = 4, .n_groups = 4, .groups_chosen = 2}).empty());
}

struct Case {
  quant::Type type = quant::Type::kF32;
  uint32_t n_rows = 1;
  Epilogue gate = Epilogue::kSwiGlu;
  bool has_bias = false;
  bool adds = false;
  Numerics numerics = Numerics::kExact;
  uint32_t n_experts = 7, n_chosen = 3;
  uint32_t hidden = 64, ffn = 96;
};

void check(const Case& c, double limit) {
  INFO(quant::info(c.type).name << ", " << c.n_rows << " rows, gate " << static_cast<int>(c.gate)
                                << ", " << cpu_variant());
  const uint32_t gate_rows = c.n_experts * (is_gated(c.gate) ? 2 : 1) * c.ffn;
  const uint32_t down_rows = c.n_experts * c.hidden;
  const auto gate_up = quant::random_rows(c.type, gate_rows, c.hidden, 3);
  const auto down = quant::random_rows(c.type, down_rows, c.ffn, 4);
  const auto gate_up_f32 = test::decode_rows(c.type, gate_up);
  const auto down_f32 = test::decode_rows(c.type, down);
  auto gate_up_matrix = CpuMatrix::create(c.type, gate_rows, c.hidden, c.numerics);
  auto down_matrix = CpuMatrix::create(c.type, down_rows, c.ffn, c.numerics);
  REQUIRE(gate_up_matrix);
  REQUIRE(down_matrix);
  gate_up_matrix->set_rows(0, gate_up);
  down_matrix->set_rows(0, down);
  const auto x = test::normal(size_t{c.n_rows} * c.hidden, 5);
  const auto logits = test::normal(size_t{c.n_rows} * c.n_experts, 6);
  const auto gate_up_bias = test::normal(gate_rows, 7);
  const auto down_bias = test::normal(down_rows, 8);
  std::vector<float> y = test::normal(x.size(), 9), want = y;

  MoeCpuArgs args;
  args.shape = {c.hidden, c.ffn, {.n_experts = c.n_experts, .n_chosen = c.n_chosen}, c.gate};
  MoeRefArgs ref;
  ref.shape = args.shape;
  ref.gate_up = gate_up_f32.data();
  ref.down = down_f32.data();
  ref.logits = args.logits = logits.data();
  if (c.has_bias) {
    ref.gate_up_bias = args.gate_up_bias = gate_up_bias.data();
    ref.down_bias = args.down_bias = down_bias.data();
  }
  ref.x = args.x = x.data();
  ref.y = want.data();
  ref.adds = args.adds = c.adds;
  ref.n_rows = args.n_rows = c.n_rows;
  moe_ref(ref);

  args.gate_up = &*gate_up_matrix;
  args.down = &*down_matrix;
  args.y = y.data();
  const uint64_t bytes = moe_cpu_scratch_bytes(args.shape, c.n_rows);
  std::vector<std::byte> scratch(bytes + 128, std::byte{0xff});
  args.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  base::ThreadPool pool(3);
  moe_cpu(pool, args);
  CHECK(test::nmse(y, want) <= limit);
  CHECK(std::all_of(args.scratch + bytes, scratch.data() + scratch.size(),
                    [](std::byte b) { return b == std::byte{0xff}; }));
}

TEST_CASE("experts on the CPU are right for few and many rows, exact and fast") {
  test::for_every_variant([] {
    for (const uint32_t n_rows : {1u, 2u, 9u, 60u}) {
      check({.n_rows = n_rows}, 1e-10);
      check({.type = quant::Type::kQ4_0, .n_rows = n_rows, .adds = true}, 1e-10);
      check({.type = quant::Type::kMXFP4,
             .n_rows = n_rows,
             .gate = Epilogue::kSwiGluClamped,
             .has_bias = true},
            1e-10);
      check({.type = quant::Type::kF16, .n_rows = n_rows, .gate = Epilogue::kActivate}, 1e-10);
      check({.type = quant::Type::kQ4_0,
             .n_rows = n_rows,
             .gate = Epilogue::kActivate,
             .adds = true,
             .numerics = Numerics::kFast},
            2e-3);
      check({.type = quant::Type::kQ4_K,
             .n_rows = n_rows,
             .gate = Epilogue::kGeGlu,
             .has_bias = true,
             .numerics = Numerics::kFast,
             .hidden = 256,
             .ffn = 256},
            2e-3);
    }
    check({.type = quant::Type::kQ8_0, .n_rows = 40, .n_experts = 128, .n_chosen = 8}, 1e-10);
  });
}

}  // namespace
}  // namespace puna::kernels
