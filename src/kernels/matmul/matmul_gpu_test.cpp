// GPU products of every type and batch class against the plain loop over decoded weights, within
// the limits:
//   exact (f32 activations, f32 sums)  NMSE 1e-10        int8 activations  NMSE 1e-4
//   f16 operands of matrix units       NMSE 1e-6
#include "kernels/matmul/matmul_gpu.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_weight.h"
#include "quant/random_rows.h"

using namespace puna;
using namespace puna::kernels;

namespace {

struct Case {
  quant::Type type = quant::Type::kQ4_0;
  uint32_t rows = 64;
  uint32_t cols = 256;
  uint32_t n_rows = 1;    // of x in this step
  uint32_t max_rows = 1;  // of the batch class
  Numerics numerics = Numerics::kExact;
  Epilogue epilogue = Epilogue::kStore;
  uint32_t y_column = 0;
  uint32_t chunk_rows = 0;     // 0: one chunk
  bool against_exact = false;  // fast: compare with the unrounded activations
  bool norm = false;           // x is the norm of the input, made by the product
  bool bias = false;
  float scale = 1.0f;
  Activation activation = Activation::kSilu;
  uint32_t x_planes = 1;
};

// The class a step of n rows runs in.
uint32_t class_of(uint32_t n) {
  for (uint32_t c : {1u, 2u, 4u, 8u, 16u, 32u}) {
    if (n <= c) return c;
  }
  return kMaxStepTokens;
}

// x as activations.wgsl quantizes it.
void round_to_int8(std::vector<float>& x) {
  for (size_t at = 0; at < x.size(); at += 32) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[at + i]));
    const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    for (size_t i = 0; i < 32; ++i)
      x[at + i] = std::nearbyint(x[at + i] * inverse) * (largest / 127.0f);
  }
}

void check_case(test::GpuHarness& gpu, const Case& c, const MatmulTuning* tuning = nullptr) {
  CAPTURE(quant::info(c.type).name);
  CAPTURE(c.rows);
  CAPTURE(c.cols);
  CAPTURE(c.n_rows);
  CAPTURE(c.max_rows);
  CAPTURE(static_cast<int>(c.numerics));
  CAPTURE(static_cast<int>(c.epilogue));
  const bool gated = is_gated(c.epilogue);
  const uint32_t n_out = gated ? c.rows / 2 : c.rows;
  const uint32_t y_stride = c.y_column + n_out + 3;
  const std::vector<std::byte> file = quant::random_rows(c.type, c.rows, c.cols, c.rows + c.cols);
  std::vector<float> weight(size_t{c.rows} * c.cols);
  quant::info(c.type).decode(file.data(), weight.data(), weight.size());
  std::vector<float> x = test::normal(size_t{c.n_rows} * c.cols, 5);
  std::vector<float> y = test::normal(size_t{c.n_rows} * y_stride, 6);

  MatmulArgs args;
  args.label = "product";
  args.weight = test::upload_weight(gpu, c.type, c.rows, c.cols, file, c.chunk_rows);
  args.step = gpu.step(c.n_rows);
  args.x = gpu.upload(x);
  args.y = gpu.output(y.size() * 4);
  if (c.epilogue == Epilogue::kAdd) gpu.write(args.y, std::as_bytes(std::span(y)));
  args.y_stride = y_stride;
  args.y_column = c.y_column;
  args.epilogue = c.epilogue;
  args.softcap = 3.0f;
  args.activation = c.activation;
  args.scale = c.scale;
  const std::vector<float> bias = test::normal(c.rows, 8);
  if (c.bias) args.bias = gpu.upload(bias);
  args.numerics = c.numerics;
  args.max_rows = c.max_rows;
  args.x_planes = c.x_planes;
  // What the product makes of its input before the scale of the norm, which commutes with it.
  double inverse_rms = 1;
  constexpr float kEps = 1e-5f;
  if (c.norm) {
    const std::vector<float> gamma = test::normal(c.cols, 7);
    args.norm = {gpu.upload(x), gpu.upload(gamma), kEps};
    args.x = {};
    double squares = 0;
    for (float v : x) squares += double{v} * v;
    inverse_rms = 1 / std::sqrt(squares / c.cols + kEps);
    for (uint32_t i = 0; i < c.cols; ++i) x[i] *= gamma[i];
  }
  const MatmulTuning chosen = tuning ? *tuning : default_tuning(gpu.info(), args);
  if (const uint64_t bytes = matmul_scratch_bytes(gpu.info(), args, chosen); bytes != 0) {
    args.scratch = gpu.output(bytes);
  }
  std::vector<KernelCall> calls;
  const auto described = matmul_tuned(gpu.info(), args, chosen, calls);
  REQUIRE_MESSAGE(described, described.error().text());
  gpu.run(calls, {.n_tokens = c.n_rows, .n_outputs = c.n_rows});

  // Matrix units read x as f16, the others as int8.
  const bool halves = chosen.kernel == MatmulKernel::kMatrix;
  if (c.numerics == Numerics::kFast && !halves && !c.against_exact &&
      quant::info(c.type).block_elements != 1)
    round_to_int8(x);
  for (float& v : x) v = static_cast<float>(v * inverse_rms);
  matmul_ref({.weight = weight.data(),
              .rows = c.rows,
              .cols = c.cols,
              .x = x.data(),
              .y = y.data(),
              .n_rows = c.n_rows,
              .y_stride = y_stride,
              .y_column = c.y_column,
              .epilogue = c.epilogue,
              .softcap = args.softcap,
              .bias = c.bias ? bias.data() : nullptr,
              .scale = c.scale,
              .activation = c.activation});
  const std::vector<float> got = gpu.read<float>(args.y);
  std::vector<float> a, b;
  for (uint32_t t = 0; t < c.n_rows; ++t) {
    for (uint32_t i = 0; i < y_stride; ++i) {
      const bool written = i >= c.y_column && i < c.y_column + n_out;
      if (written) {
        a.push_back(got[t * y_stride + i]);
        b.push_back(y[t * y_stride + i]);
      } else if (c.epilogue != Epilogue::kAdd) {
        CHECK(std::isnan(got[t * y_stride + i]));  // the poison is still there
      }
    }
  }
  CHECK(test::nmse(a, b) <= (c.numerics == Numerics::kExact ? 1e-10
                             : halves                       ? 1e-6
                             : c.x_planes == 2              ? 1e-8
                             : c.against_exact              ? 1e-4
                                                            : 1e-7));
}

uint32_t blocks(quant::Type type, uint32_t cols) {
  const uint32_t block = quant::info(type).block_elements;
  return (cols + block - 1) / block * block;
}

// Types differ in how a unit is unpacked, which the mat-vec of one row shows for each. The other
// templates take one type of each kind of unit here: software adapters compile for ten minutes
// otherwise. All of them by all types are in `puna selftest`.
constexpr quant::Type kKinds[] = {quant::Type::kF16,  quant::Type::kQ4_0,   quant::Type::kQ5_1,
                                  quant::Type::kQ8_0, quant::Type::kQ3_K,   quant::Type::kQ4_K,
                                  quant::Type::kQ6_K, quant::Type::kIQ4_XS, quant::Type::kIQ3_S};
bool is_of_kinds(quant::Type type) {
  return std::find(std::begin(kKinds), std::end(kKinds), type) != std::end(kKinds);
}

template <class Run>
void for_every_type(Run&& run) {
  for (const quant::TypeInfo& type : quant::types()) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      if (numerics == Numerics::kFast && type.block_elements == 1) continue;
      run(type.type, numerics);
    }
  }
}
template <class Run>
void for_every_kind(Run&& run) {
  for_every_type([&](quant::Type type, Numerics numerics) {
    if (is_of_kinds(type)) run(type, numerics);
  });
}

// Two products in a row, the first handing over to the second, beside the same two apart.
void check_handover(test::GpuHarness& gpu, quant::Type type, uint32_t mid, uint32_t max_rows,
                    bool normed) {
  CAPTURE(quant::info(type).name);
  CAPTURE(max_rows);
  CAPTURE(normed);
  const uint32_t cols = blocks(type, 256), out = 72;
  constexpr float kEps = 1e-5f;
  const uint32_t first_rows = normed ? mid : 2 * mid;
  const auto first_file = quant::random_rows(type, first_rows, cols, 1);
  const auto second_file = quant::random_rows(type, out, mid, 2);
  const std::vector<float> x = test::normal(size_t{max_rows} * cols, 3);
  const std::vector<float> residual = test::normal(size_t{max_rows} * mid, 4);
  const std::vector<float> gamma = test::normal(mid, 5);

  MatmulArgs first;
  first.label = "first";
  first.weight = test::upload_weight(gpu, type, first_rows, cols, first_file, 0);
  first.step = gpu.step(max_rows);
  first.x = gpu.upload(x);
  first.y = gpu.output(residual.size() * 4);
  gpu.write(first.y, std::as_bytes(std::span(residual)));
  first.y_stride = mid;
  first.epilogue = normed ? Epilogue::kAdd : Epilogue::kSwiGlu;
  first.numerics = Numerics::kFast;
  first.max_rows = max_rows;
  first.scratch = gpu.output(matmul_scratch_bytes(gpu.info(), first));
  MatmulArgs second = first;
  second.label = "second";
  second.weight = test::upload_weight(gpu, type, out, mid, second_file, 0);
  second.epilogue = Epilogue::kStore;
  second.y_stride = out;
  second.y = gpu.output(size_t{max_rows} * out * 4);
  const auto form = matmul_takes(gpu.info(), second, normed);
  if (!form) {
    const bool is_block = quant::info(type).block_elements != 1;
    CHECK_MESSAGE((normed || !is_block), "a product of bytes takes bytes");
    return;
  }
  REQUIRE(matmul_hands(gpu.info(), first, *form, normed));
  first.hands = Handover{gpu.output(matmul_handover_bytes(mid, max_rows, *form)), *form, {}};
  if (normed) first.hands->gamma = gpu.upload(gamma);
  second.x = first.hands->x;
  second.handed = HandedX{*form, normed ? std::optional(kEps) : std::nullopt};
  second.scratch = {};
  std::vector<KernelCall> calls;
  REQUIRE(matmul(gpu.info(), first, calls));
  REQUIRE(matmul(gpu.info(), second, calls));
  CHECK(calls.size() == (first.max_rows == 1 || quant::info(type).block_elements == 1 ? 2 : 3));
  gpu.run(calls, {.n_tokens = max_rows, .n_outputs = max_rows});

  const auto decoded = [&](const std::vector<std::byte>& file, size_t n) {
    std::vector<float> weight(n);
    quant::info(type).decode(file.data(), weight.data(), n);
    return weight;
  };
  const auto product = [&](const std::vector<float>& weight, uint32_t rows, uint32_t columns,
                           const std::vector<float>& in, std::vector<float>& y, Epilogue epilogue) {
    matmul_ref({.weight = weight.data(),
                .rows = rows,
                .cols = columns,
                .x = in.data(),
                .y = y.data(),
                .n_rows = max_rows,
                .y_stride = static_cast<uint32_t>(y.size()) / max_rows,
                .epilogue = epilogue});
  };
  const bool int8 = quant::info(type).block_elements != 1;
  std::vector<float> rounded = x, middle = residual, wanted(size_t{max_rows} * out);
  if (int8) round_to_int8(rounded);
  product(decoded(first_file, size_t{first_rows} * cols), first_rows, cols, rounded, middle,
          first.epilogue);
  if (normed) CHECK(test::nmse(gpu.read<float>(first.y), middle) < 1e-10);
  // The scale of the norm comes last, after the rounding.
  std::vector<double> inverse(max_rows, 1.0);
  for (uint32_t t = 0; normed && t < max_rows; ++t) {
    double squares = 0;
    for (uint32_t i = 0; i < mid; ++i) squares += double{middle[t * mid + i]} * middle[t * mid + i];
    inverse[t] = 1 / std::sqrt(squares / mid + kEps);
    for (uint32_t i = 0; i < mid; ++i) middle[t * mid + i] *= gamma[i];
  }
  if (int8) round_to_int8(middle);
  for (size_t i = 0; i < middle.size(); ++i)
    middle[i] = static_cast<float>(middle[i] * inverse[i / mid]);
  product(decoded(second_file, size_t{out} * mid), out, mid, middle, wanted, Epilogue::kStore);
  CHECK(test::nmse(gpu.read<float>(second.y), wanted) < (int8 ? 1e-6 : 1e-10));
}

}  // namespace

TEST_CASE("gpu: mat-vec of one row is right for every type and odd numbers of weight rows") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for_every_type([&](quant::Type type, Numerics numerics) {
    for (const auto& [rows, cols] :
         {std::pair{5u, 576u}, {1u, 32u}, {3u, 64u}, {4u, 256u}, {130u, 2048u}}) {
      if (rows != 5 && !is_of_kinds(type)) break;
      check_case(*gpu,
                 {.type = type, .rows = rows, .cols = blocks(type, cols), .numerics = numerics});
    }
  });
}

TEST_CASE("gpu: a product hands its result to the next one") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const quant::Type type : {quant::Type::kF32, quant::Type::kF16, quant::Type::kQ4_0,
                                 quant::Type::kQ4_K, quant::Type::kQ8_0, quant::Type::kIQ2_XS}) {
    const uint32_t mid = blocks(type, 576);
    for (const uint32_t max_rows : {1u, 4u, 16u}) {
      check_handover(*gpu, type, mid, max_rows, /*normed=*/true);
      check_handover(*gpu, type, mid, max_rows, /*normed=*/false);
    }
  }
  MatmulArgs exact;
  exact.weight = {quant::Type::kQ4_0, 64, 64, {}};
  CHECK(!matmul_takes(gpu->info(), exact, /*normed=*/false));
}

TEST_CASE("gpu: a mat-vec that makes the norm of its input is right for every kind of block") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for_every_kind([&](quant::Type type, Numerics numerics) {
    if (numerics == Numerics::kExact) return;
    for (const auto& [rows, cols] : {std::pair{8u, 32u}, {64u, 576u}, {130u, 2048u}}) {
      const Case c{.type = type,
                   .rows = rows,
                   .cols = blocks(type, cols),
                   .numerics = numerics,
                   .norm = true};
      MatmulArgs args;
      args.weight = {c.type, c.rows, c.cols, {}};
      args.numerics = c.numerics;
      if (!matmul_makes_norm(gpu->info(), args)) {
        MESSAGE("SKIPPED: this adapter's subgroups are too small to make norms");
        return;
      }
      check_case(*gpu, c);
      Case gated = c;
      gated.epilogue = Epilogue::kSwiGlu;
      if (rows % 8 == 0) check_case(*gpu, gated);
    }
  });
}

TEST_CASE(
    "gpu: small batches are right for every kind of type, also when the step has fewer rows than "
    "the class") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for_every_kind([&](quant::Type type, Numerics numerics) {
    for (uint32_t n : {2u, 3u, 16u}) {
      check_case(*gpu, {.type = type,
                        .rows = 64,
                        .cols = 256,
                        .n_rows = n,
                        .max_rows = class_of(n),
                        .numerics = numerics,
                        .y_column = 5});
    }
  });
}

TEST_CASE("gpu: prefill tiles are right for every kind of type and ragged sizes") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const auto check = [&](quant::Type type, Numerics numerics, uint32_t n, uint32_t rows,
                         uint32_t cols) {
    check_case(*gpu, {.type = type,
                      .rows = rows,
                      .cols = blocks(type, cols),
                      .n_rows = n,
                      .max_rows = class_of(n),
                      .numerics = numerics,
                      .y_column = 2});
  };
  for_every_kind([&](quant::Type type, Numerics numerics) { check(type, numerics, 70, 130, 576); });
  for (const quant::Type type : {quant::Type::kF16, quant::Type::kQ4_0, quant::Type::kQ6_K}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      check(type, numerics, 17, 5, 256);
      check(type, numerics, 512, 64, 256);
    }
  }
}

TEST_CASE("gpu: int8 activations stay near the exact product for every kind of block") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const quant::Type type : kKinds) {
    if (quant::info(type).block_elements == 1) continue;
    check_case(*gpu, {.type = type,
                      .rows = 128,
                      .cols = 256,
                      .n_rows = 64,
                      .max_rows = 512,
                      .numerics = Numerics::kFast,
                      .against_exact = true});
  }
}

TEST_CASE("gpu: with two planes of int8 products are as near the exact ones as 15 bits") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const quant::Type type : {quant::Type::kQ4_1, quant::Type::kQ8_0, quant::Type::kQ6_K}) {
      for (const uint32_t n : {1u, 3u, 16u}) {
        for (const bool norm : {false, true}) {
          if (norm && (n > 1 || features == test::Features::kBaseline)) continue;
          check_case(*gpu, {.type = type,
                            .rows = 72,
                            .cols = 512,
                            .n_rows = n,
                            .max_rows = class_of(n),
                            .numerics = Numerics::kFast,
                            .epilogue = n == 3 ? Epilogue::kSwiGlu : Epilogue::kStore,
                            .against_exact = true,
                            .norm = norm,
                            .x_planes = 2});
        }
      }
    }
  }
}

TEST_CASE("gpu: every epilogue is right in every template") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const Epilogue epilogue :
       {Epilogue::kAdd, Epilogue::kSwiGlu, Epilogue::kGeGlu, Epilogue::kSoftcap}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (uint32_t n : {1u, 3u, 33u}) {
        check_case(*gpu, {.rows = 40,
                          .cols = 96,
                          .n_rows = n,
                          .max_rows = class_of(n),
                          .numerics = numerics,
                          .epilogue = epilogue,
                          .y_column = 7});
      }
    }
    check_case(*gpu, {.type = quant::Type::kF16, .rows = 40, .cols = 96, .epilogue = epilogue});
  }
}

TEST_CASE("gpu: a bias, a scale and an activation are right in every template and for chunks") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kAdd, Epilogue::kActivate}) {
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
        for (uint32_t n : {1u, 3u, 33u}) {
          check_case(*gpu, {.rows = 40,
                            .cols = 96,
                            .n_rows = n,
                            .max_rows = class_of(n),
                            .numerics = numerics,
                            .epilogue = epilogue,
                            .y_column = 7,
                            .chunk_rows = 16,
                            .bias = true,
                            .scale = 0.6f,
                            .activation = Activation::kGeluErf});
        }
      }
    }
    for (const Activation activation : kActivations) {
      check_case(*gpu, {.type = quant::Type::kF16,
                        .rows = 21,
                        .cols = 50,
                        .epilogue = Epilogue::kActivate,
                        .bias = true,
                        .activation = activation});
    }
    check_case(*gpu, {.rows = 40, .cols = 96, .epilogue = Epilogue::kSwiGlu, .scale = 0.6f});
  }
}

TEST_CASE("gpu: a weight in several chunks gives the same product") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (uint32_t n : {1u, 4u, 70u}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      check_case(*gpu, {.type = quant::Type::kQ4_K,
                        .rows = 77,
                        .n_rows = n,
                        .max_rows = class_of(n),
                        .numerics = numerics,
                        .y_column = 1,
                        .chunk_rows = 32});
      check_case(*gpu, {.rows = 48,
                        .n_rows = n,
                        .max_rows = class_of(n),
                        .numerics = numerics,
                        .epilogue = Epilogue::kSwiGlu,
                        .chunk_rows = 16});
    }
  }
}

TEST_CASE("gpu: float weights may have any number of columns") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const quant::Type type : {quant::Type::kF32, quant::Type::kF16, quant::Type::kBf16}) {
    for (uint32_t cols : {1u, 7u, 33u, 36u, 50u, 124u}) {
      for (uint32_t n : {1u, 3u, 20u}) {
        check_case(*gpu,
                   {.type = type, .rows = 6, .cols = cols, .n_rows = n, .max_rows = class_of(n)});
      }
    }
  }
}

TEST_CASE("gpu: products are right on a device without optional features") {
  const auto gpu = test::GpuHarness::open(test::Features::kBaseline);
  if (!gpu) return;
  for (const quant::Type type :
       {quant::Type::kF16, quant::Type::kQ4_0, quant::Type::kQ8_0, quant::Type::kQ6_K}) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (uint32_t n : {1u, 2u, 7u, 16u, 40u}) {
        check_case(*gpu, {.type = type,
                          .rows = 21,
                          .cols = 512,
                          .n_rows = n,
                          .max_rows = class_of(n),
                          .numerics = numerics});
      }
    }
  }
}

TEST_CASE("gpu: other tunings give the same product") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  std::vector<MatmulTuning> tunings;
  for (const MatvecTuning& matvec :
       {MatvecTuning{64, 64, 1, 1, true, true}, MatvecTuning{256, 32, 2, 2, true, false},
        MatvecTuning{128, 128, 4, 1, false, true}, MatvecTuning{32, 8, 1, 4, false, false}}) {
    tunings.push_back({MatmulKernel::kMatvec, matvec, {}});
  }
  for (const GemmTuning& gemm : {GemmTuning{4, 1}, GemmTuning{8, 4}, GemmTuning{4, 8, 1, 2},
                                 GemmTuning{4, 4, 1, 4}, GemmTuning{8, 8, 2, 2}})
    tunings.push_back({MatmulKernel::kGemm, {}, gemm});
  for (const MatmulTuning& tuning : tunings) {
    for (const quant::Type type : {quant::Type::kQ4_0, quant::Type::kQ3_K}) {
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
        const uint32_t n = tuning.matvec.own_int8 ? 1 : 6;
        check_case(*gpu,
                   {.type = type,
                    .rows = 70,
                    .cols = 512,
                    .n_rows = n,
                    .max_rows = 8,
                    .numerics = numerics},
                   &tuning);
      }
    }
  }
}

TEST_CASE("gpu: a mat-vec that reads ahead is right for any number of turns") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const bool own_int8 : {false, true}) {
    const MatmulTuning tuning{MatmulKernel::kMatvec, {64, 8, 1, 1, true, own_int8}, {}};
    // Part of a turn, one, one and a part, two, two and a part: units of 32 by teams of 8.
    for (const uint32_t cols : {96u, 256u, 352u, 512u, 544u}) {
      check_case(
          *gpu, {.type = quant::Type::kQ4_0, .rows = 70, .cols = cols, .numerics = Numerics::kFast},
          &tuning);
    }
  }
}

TEST_CASE("gpu: every tile of matrix units gives the same product") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  bool found = false;
  test::EveryNth cases(gpu->info(), 7);
  for (const quant::Type type : {quant::Type::kF16, quant::Type::kQ8_0}) {
    Case c{.type = type,
           .rows = 72,
           .cols = 96,
           .n_rows = 70,
           .max_rows = 512,
           .numerics = Numerics::kFast};
    MatmulArgs args;
    args.weight = {c.type, c.rows, c.cols, {}};
    args.numerics = c.numerics;
    args.max_rows = c.max_rows;
    for (const MatrixTuning& matrix : matrix_tiles(gpu->info(), args)) {
      found = true;
      const MatmulTuning tuning{.kernel = MatmulKernel::kMatrix, .matrix = matrix};
      for (const uint32_t cols : {96u, 128u}) {
        c.cols = cols;
        for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kAdd, Epilogue::kSwiGlu}) {
          c.epilogue = epilogue;
          if (cases.takes_next()) check_case(*gpu, c, &tuning);
        }
      }
    }
  }
  if (!found) MESSAGE("SKIPPED: this device has no matrix units");
}

TEST_CASE("gpu: few rows in matrix units give the same product, however K is dealt and asked for") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  bool found = false;
  test::EveryNth cases(gpu->info(), 13);
  const auto check_tile = [&](Case c, const MatrixTuning& tile) {
    MatmulArgs args;
    args.weight = {c.type, c.rows, c.cols, {}};
    args.numerics = c.numerics;
    args.max_rows = c.max_rows;
    const MatmulTuning tuning{.kernel = MatmulKernel::kMatrix, .matrix = tile};
    if (!tuning_fits(gpu->info(), args, tuning)) return;
    found = true;
    if (cases.takes_next()) check_case(*gpu, c, &tuning);
  };
  for (const quant::Type type :
       {quant::Type::kF16, quant::Type::kQ4_0, quant::Type::kQ4_K, quant::Type::kQ6_K}) {
    Case c{.type = type, .rows = 72, .cols = 512, .numerics = Numerics::kFast};
    for (const uint32_t n_splits : {1u, 2u}) {
      c.n_rows = 20;
      c.max_rows = 32;
      c.epilogue = Epilogue::kAdd;
      for (const uint32_t steps_ahead : {1u, 2u, 4u})
        check_tile(c, {1, 1, 4, 2, 4, 2, n_splits, steps_ahead});
      // One tile of 9 to 16 rows: fragments of a row are stored together, gated ones too.
      c.n_rows = 11;
      c.max_rows = 16;
      check_tile(c, {1, 1, 8, 1, 4, 4, n_splits, 2});
      c.epilogue = Epilogue::kSwiGlu;
      check_tile(c, {1, 2, 2, 1, 2, 2, n_splits, 2});
    }
  }
  if (!found) MESSAGE("SKIPPED: this device has no matrix units");
}
