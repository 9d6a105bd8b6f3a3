// Experts on an adapter against moe_ref.h: routers of every kind, few and many rows, exact and
// fast, weights in one chunk and in several.
#include <doctest/doctest.h>

#include <cstring>

#include "kernels/common/test_util.h"
#include "kernels/moe/moe_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_weight.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

constexpr test::Features kBoth[] = {test::Features::kAll, test::Features::kBaseline};

void check_route(const RouteParams& params, uint32_t n_rows, bool with_bias,
                 test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  INFO(params.n_chosen << " of " << params.n_experts << ", scores "
                       << static_cast<int>(params.scores) << ", groups " << params.n_groups);
  const std::vector<float> logits = test::normal(size_t{n_rows} * params.n_experts, 3, 2.0f);
  const std::vector<float> bias = test::normal(params.n_experts, 4);
  const size_t n = size_t{n_rows} * params.n_chosen;
  RouteArgs args;
  args.label = "route";
  args.logits = gpu->upload(logits);
  if (with_bias) args.selection_bias = gpu->upload(bias);
  args.routes = gpu->output(2 * n * 4);
  args.params = params;
  std::vector<KernelCall> calls;
  REQUIRE(route(gpu->info(), args, calls));
  gpu->run(calls, {.n_tokens = n_rows});
  const auto routes = gpu->read<uint32_t>(args.routes);

  std::vector<uint32_t> experts(n), want_experts(n);
  std::vector<float> weights(n), want_weights(n);
  RouteCpuArgs ref;
  ref.logits = logits.data();
  ref.selection_bias = with_bias ? bias.data() : nullptr;
  ref.experts = want_experts.data();
  ref.weights = want_weights.data();
  ref.n_rows = n_rows;
  ref.params = params;
  route_ref(ref);
  for (uint32_t t = 0; t < n_rows; ++t) {
    const size_t own = size_t{t} * params.n_chosen;
    std::memcpy(&experts[own], &routes[2 * own], size_t{params.n_chosen} * 4);
    std::memcpy(&weights[own], &routes[2 * own + params.n_chosen], size_t{params.n_chosen} * 4);
  }
  CHECK(experts == want_experts);
  CHECK(test::nmse(weights, want_weights) <= 1e-11);
}

TEST_CASE("a router's choice and weights are right on the GPU") {
  for (const ExpertScores scores :
       {ExpertScores::kSoftmax, ExpertScores::kSigmoid, ExpertScores::kSoftmaxOfChosen}) {
    for (const bool normalise : {false, true}) {
      RouteParams params{
          .n_experts = 60, .n_chosen = 4, .scores = scores, .normalise = normalise, .scale = 2.5f};
      check_route(params, 30, normalise, kBoth[normalise ? 1 : 0]);
      params.n_groups = 6;
      params.groups_chosen = 2;
      check_route(params, 30, /*with_bias=*/true, test::Features::kAll);
    }
  }
  check_route({.n_experts = 512, .n_chosen = 10, .normalise = true}, 3, false,
              test::Features::kBaseline);
  check_route({.n_experts = 16, .n_chosen = 2, .scores = ExpertScores::kSparseMixer}, 200, false,
              test::Features::kAll);
}

struct Case {
  quant::Type type = quant::Type::kF32;
  uint32_t n_rows = 1;
  uint32_t max_rows = 1;
  Epilogue gate = Epilogue::kSwiGlu;
  bool has_bias = false;
  bool adds = false;
  Numerics numerics = Numerics::kExact;
  uint32_t chunk_experts = 0;  // of a chunk of the weights; 0 = all
  uint32_t n_experts = 7, n_chosen = 3;
  uint32_t hidden = 64, ffn = 96;
};

void check_on(const Case& c, double limit, test::Features features) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  INFO(quant::info(c.type).name << ", " << c.n_rows << " of " << c.max_rows << " rows, gate "
                                << static_cast<int>(c.gate) << ", numerics "
                                << static_cast<int>(c.numerics) << ", chunks of " << c.chunk_experts
                                << ", features " << static_cast<int>(features));
  const uint32_t gate_rows = (is_gated(c.gate) ? 2 : 1) * c.ffn, down_rows = c.hidden;
  const auto gate_up = quant::random_rows(c.type, c.n_experts * gate_rows, c.hidden, 3);
  const auto down = quant::random_rows(c.type, c.n_experts * down_rows, c.ffn, 4);
  const auto gate_up_f32 = test::decode_rows(c.type, gate_up);
  const auto down_f32 = test::decode_rows(c.type, down);
  const auto x = test::normal(size_t{c.n_rows} * c.hidden, 5);
  const auto logits = test::normal(size_t{c.n_rows} * c.n_experts, 6);
  const auto gate_up_bias = test::normal(size_t{c.n_experts} * gate_rows, 7);
  const auto down_bias = test::normal(size_t{c.n_experts} * down_rows, 8);
  const std::vector<float> before = test::normal(x.size(), 9);

  MoeArgs args;
  args.label = "experts";
  args.shape = {c.hidden, c.ffn, {.n_experts = c.n_experts, .n_chosen = c.n_chosen}, c.gate};
  args.gate_up = test::upload_weight(*gpu, c.type, c.n_experts * gate_rows, c.hidden, gate_up,
                                     c.chunk_experts * gate_rows);
  args.down = test::upload_weight(*gpu, c.type, c.n_experts * down_rows, c.ffn, down,
                                  c.chunk_experts * down_rows);
  args.step = gpu->step(c.n_rows);
  args.logits = gpu->upload(logits);
  args.x = gpu->upload(x);
  args.y = gpu->output(before.size() * 4);
  if (c.adds) gpu->write(args.y, std::as_bytes(std::span(before)));
  MoeRefArgs ref;
  if (c.has_bias) {
    args.gate_up_bias = gpu->upload(gate_up_bias);
    args.down_bias = gpu->upload(down_bias);
    ref.gate_up_bias = gate_up_bias.data();
    ref.down_bias = down_bias.data();
  }
  args.adds = c.adds;
  args.numerics = c.numerics;
  args.max_rows = c.max_rows;
  args.routes = gpu->output(moe_routes_bytes(args.shape, c.max_rows));
  args.groups = gpu->output(moe_groups_bytes(args.shape, c.max_rows));
  args.scratch = gpu->output(moe_scratch_bytes(gpu->info(), args));
  std::vector<KernelCall> calls;
  const auto described = moe(gpu->info(), args, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  for (const KernelCall& call : calls) CHECK(call.bindings.size() <= 8);
  gpu->run(calls, {.n_tokens = c.n_rows});

  std::vector<float> want = before;
  ref.shape = args.shape;
  ref.gate_up = gate_up_f32.data();
  ref.down = down_f32.data();
  ref.logits = logits.data();
  ref.x = x.data();
  ref.y = want.data();
  ref.adds = c.adds;
  ref.n_rows = c.n_rows;
  moe_ref(ref);
  CHECK(test::nmse(gpu->read<float>(args.y), want) <= limit);
}

void check(const Case& c, double limit) {
  for (const test::Features features : kBoth) check_on(c, limit, features);
}

TEST_CASE("experts on the GPU are right for one row and for small batches") {
  for (const uint32_t rows : {1u, 5u}) {
    const uint32_t max_rows = rows == 1 ? 1 : 8;
    check({.n_rows = rows, .max_rows = max_rows}, 1e-10);
    check({.type = quant::Type::kF16,
           .n_rows = rows,
           .max_rows = max_rows,
           .adds = true,
           .hidden = 48,
           .ffn = 40},
          1e-10);
    check({.type = quant::Type::kMXFP4,
           .n_rows = rows,
           .max_rows = max_rows,
           .gate = Epilogue::kSwiGluClamped,
           .has_bias = true},
          1e-10);
    check({.type = quant::Type::kQ4_0,
           .n_rows = rows,
           .max_rows = max_rows,
           .adds = true,
           .numerics = Numerics::kFast},
          2e-3);
    check({.n_rows = rows, .max_rows = max_rows, .gate = Epilogue::kActivate}, 1e-10);
    check({.type = quant::Type::kQ4_0,
           .n_rows = rows,
           .max_rows = max_rows,
           .gate = Epilogue::kActivate,
           .numerics = Numerics::kFast},
          2e-3);
    check({.type = quant::Type::kQ6_K,
           .n_rows = rows,
           .max_rows = max_rows,
           .has_bias = true,
           .numerics = Numerics::kFast,
           .hidden = 256,
           .ffn = 256},
          2e-3);
  }
}

TEST_CASE("experts on the GPU are right for many rows") {
  for (const uint32_t rows : {17u, 100u}) {
    check({.n_rows = rows, .max_rows = 512}, 1e-10);
    check({.n_rows = rows, .max_rows = 512, .gate = Epilogue::kActivate}, 1e-10);
    check_on({.type = quant::Type::kMXFP4,
              .n_rows = rows,
              .max_rows = 512,
              .gate = Epilogue::kSwiGluClamped,
              .has_bias = true,
              .adds = true},
             1e-10, test::Features::kAll);
    check_on({.type = quant::Type::kQ4_K,
              .n_rows = rows,
              .max_rows = 512,
              .has_bias = true,
              .numerics = Numerics::kFast,
              .hidden = 256,
              .ffn = 256},
             2e-3, test::Features::kBaseline);
  }
  check_on(
      {.type = quant::Type::kQ8_0, .n_rows = 60, .max_rows = 512, .n_experts = 300, .n_chosen = 8},
      1e-10, test::Features::kAll);
}

TEST_CASE("experts on the GPU may lie in several chunks") {
  for (const uint32_t rows : {1u, 40u}) {
    const uint32_t max_rows = rows == 1 ? 1 : 512;
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      check_on({.type = quant::Type::kQ4_0,
                .n_rows = rows,
                .max_rows = max_rows,
                .has_bias = true,
                .adds = rows == 1,
                .numerics = numerics,
                .chunk_experts = 3},
               numerics == Numerics::kExact ? 1e-10 : 2e-3, test::Features::kAll);
    }
    check_on({.n_rows = rows, .max_rows = max_rows, .chunk_experts = 2}, 1e-10,
             test::Features::kBaseline);
  }
}

}  // namespace
}  // namespace puna::kernels
