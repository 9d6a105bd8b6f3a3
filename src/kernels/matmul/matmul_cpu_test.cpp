#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "base/half.h"
#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul_ref.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

using quant::Type;

// x as the fast kernels of block types see it: int8 per 32 columns, decoded again. One ulp of the
// scale apart from theirs at most.
std::vector<float> through_int8(const std::vector<float>& x) {
  std::vector<float> out(x.size());
  for (size_t block = 0; block < x.size(); block += 32) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[block + i]));
    const float inverse = largest > 1e-30f ? 127.0f / largest : 0.0f;
    for (size_t i = 0; i < 32; ++i)
      out[block + i] = largest / 127.0f * std::nearbyint(x[block + i] * inverse);
  }
  return out;
}

// The same with bf16 weights.
std::vector<float> through_bf16(std::vector<float> x) {
  for (float& value : x) value = base::bf16_to_f32(base::f32_to_bf16(value));
  return x;
}

struct Case {
  Type type;
  uint32_t rows, cols, n_rows;
  Numerics numerics = Numerics::kExact;
  Epilogue epilogue = Epilogue::kStore;
  int n_threads = 2;
  bool bias = false;
  float scale = 1.0f;
  Activation activation = Activation::kSilu;
  uint32_t x_planes = 1;
};

// The same by two planes of int8.
std::vector<float> through_planes(const std::vector<float>& x) {
  std::vector<float> out = through_int8(x), left(x.size());
  for (size_t i = 0; i < x.size(); ++i) left[i] = x[i] - out[i];
  left = through_int8(left);
  for (size_t i = 0; i < x.size(); ++i) out[i] += left[i];
  return out;
}

// One product against matmul_ref; checks that nothing outside the result was written.
void check(const Case& c, const std::vector<float>& x, double limit,
           double limit_against_exact = 0) {
  INFO(quant::info(c.type).name << " " << c.rows << " x " << c.cols << ", " << c.n_rows
                                << " rows, epilogue " << static_cast<int>(c.epilogue) << ", "
                                << cpu_variant());
  const std::vector<std::byte> file = quant::random_rows(c.type, c.rows, c.cols, 3);
  const std::vector<float> weight = test::decode_rows(c.type, file);
  auto matrix = CpuMatrix::create(c.type, c.rows, c.cols, c.numerics);
  REQUIRE(matrix.has_value());
  matrix->set_rows(0, file);

  const bool gated = is_gated(c.epilogue);
  const uint32_t n_out = gated ? c.rows / 2 : c.rows;
  const uint32_t column = 3;
  const uint32_t stride = n_out + 5;
  const std::vector<float> before = test::normal(size_t{c.n_rows} * stride, 5);
  const std::vector<float> bias = test::normal(c.rows, 6);
  std::vector<float> y = before;
  std::vector<float> expected = before;
  const XForm form = matmul_cpu_x_form(c.type, c.numerics, c.n_rows);
  MatmulRefArgs ref{.weight = weight.data(),
                    .rows = c.rows,
                    .cols = c.cols,
                    .x = x.data(),
                    .y = expected.data(),
                    .n_rows = c.n_rows,
                    .y_stride = stride,
                    .y_column = column,
                    .epilogue = c.epilogue,
                    .softcap = 0.7f,
                    .bias = c.bias ? bias.data() : nullptr,
                    .scale = c.scale,
                    .activation = c.activation};
  if (form != XForm::kPlain && limit_against_exact > 0) {
    std::vector<float> exact = before;
    ref.y = exact.data();
    matmul_ref(ref);
    ref.y = expected.data();
    const std::vector<float> rounded = form != XForm::kInt8 ? through_bf16(x)
                                       : c.x_planes == 2    ? through_planes(x)
                                                            : through_int8(x);
    ref.x = rounded.data();
    matmul_ref(ref);
    CHECK(test::nmse(expected, exact) <= limit_against_exact);
  } else {
    matmul_ref(ref);
  }

  const uint64_t scratch_bytes = matmul_cpu_scratch_bytes(c.cols, c.n_rows * c.x_planes);
  std::vector<std::byte> scratch(scratch_bytes + 64 + 64, std::byte{0xff});
  std::byte* aligned =
      scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  std::byte* const end = aligned + scratch_bytes;
  base::ThreadPool pool(c.n_threads);
  MatmulCpuArgs args{.weight = &*matrix,
                     .x = x.data(),
                     .y = y.data(),
                     .n_rows = c.n_rows,
                     .y_stride = stride,
                     .y_column = column,
                     .bias = c.bias ? bias.data() : nullptr,
                     .scale = c.scale,
                     .epilogue = c.epilogue,
                     .softcap = 0.7f,
                     .activation = c.activation,
                     .x_planes = c.x_planes,
                     .scratch = aligned};
  matmul_cpu(pool, args);
  CHECK(test::nmse(y, expected) <= limit);
  for (uint32_t t = 0; t < c.n_rows; ++t) {
    for (uint32_t i = 0; i < stride; ++i) {
      if (i >= column && i < column + n_out) continue;
      REQUIRE(y[size_t{t} * stride + i] == before[size_t{t} * stride + i]);
    }
  }
  CHECK(std::all_of(end, scratch.data() + scratch.size(),
                    [](std::byte b) { return b == std::byte{0xff}; }));

  // Exact rows are the same bits whatever rows are beside them.
  for (uint32_t t = 0; c.numerics == Numerics::kExact && t < c.n_rows; t += 3) {
    std::vector<float> alone = before;
    MatmulCpuArgs one = args;
    one.x = x.data() + size_t{t} * c.cols;
    one.y = alone.data() + size_t{t} * stride;
    one.n_rows = 1;
    matmul_cpu(pool, one);
    CHECK(std::equal(one.y, one.y + stride, y.data() + size_t{t} * stride));
  }

  // The same x again, already quantized in scratch.
  std::vector<float> again = before;
  args.y = again.data();
  args.x_in_scratch = true;
  matmul_cpu(pool, args);
  CHECK(again == y);
}

void check(const Case& c, double limit, double limit_against_exact = 0) {
  check(c, test::normal(size_t{c.n_rows} * c.cols, 7), limit, limit_against_exact);
}

struct EveryVariant {
  template <class Body>
  void run(Body body) {
    for (const std::string_view name : cpu_variants()) {
      REQUIRE(set_cpu_variant(name).has_value());
      body();
    }
    REQUIRE(set_cpu_variant(cpu_variants().front()).has_value());
  }
};

TEST_CASE_FIXTURE(EveryVariant, "exact products of every type equal the f64 loop over odd shapes") {
  run([] {
    for (const quant::TypeInfo& info : quant::types()) {
      const uint32_t block = std::max(info.block_elements, 4u);
      for (const uint32_t n_rows : {1u, 2u, 3u, 5u, 8u, 17u})
        check({info.type, 37, block * 3, n_rows}, 1e-10);
      check({info.type, 16, block, 1}, 1e-10);
      check({info.type, 3, 1280, 33}, 1e-10);
    }
    check({Type::kF32, 20, 7, 9}, 1e-10);
    check({Type::kF16, 64, 11008, 4}, 1e-10);
    check({Type::kQ4_0, 64, 11008, 1}, 1e-10);
  });
}

TEST_CASE_FIXTURE(
    EveryVariant,
    "fast products equal those of the same rounded activations, and are near the exact ones") {
  run([] {
    for (const quant::TypeInfo& info : quant::types()) {
      const uint32_t block = std::max(info.block_elements, 32u);
      for (const uint32_t n_rows : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 12u, 13u, 16u, 17u, 31u, 129u}) {
        check({info.type, 37, block * 3, n_rows, Numerics::kFast}, 1e-10, 1e-4);
      }
      check({info.type, 3, 1280, 33, Numerics::kFast}, 1e-10, 1e-4);
    }
    check({Type::kQ4_1, 64, 576, 300, Numerics::kFast}, 1e-10, 1e-4);
    check({Type::kBf16, 40, 7, 19, Numerics::kFast}, 1e-10, 1e-5);
    check({Type::kBf16, 64, 1537, 300, Numerics::kFast}, 1e-10, 1e-5);
    check({Type::kQ6_K, 64, 2048, 40, Numerics::kFast}, 1e-10, 1e-4);
  });
}

TEST_CASE_FIXTURE(EveryVariant,
                  "with two planes of int8 fast products are as near the exact ones as 15 bits") {
  run([] {
    for (const quant::TypeInfo& info : quant::types()) {
      const uint32_t block = std::max(info.block_elements, 32u);
      for (const uint32_t n_rows : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 16u, 31u}) {
        Case c{info.type, 37, block * 3, n_rows, Numerics::kFast};
        c.x_planes = 2;
        // bf16 products read x as bf16, in one plane.
        check(c, 1e-10, info.type == Type::kBf16 ? 1e-5 : 1e-8);
      }
    }
    for (const Epilogue epilogue : {Epilogue::kAdd, Epilogue::kSwiGlu, Epilogue::kSoftcap}) {
      for (const uint32_t n_rows : {1u, 3u, 20u, 200u}) {
        Case c{Type::kQ4_1, 40, 96, n_rows, Numerics::kFast, epilogue};
        c.x_planes = 2;
        check(c, 1e-9, 1e-7);
      }
    }
  });
}

TEST_CASE_FIXTURE(EveryVariant, "codes at their limits do not overflow the int8 products") {
  run([] {
    for (const quant::TypeInfo& info : quant::types()) {
      if (info.type <= Type::kBf16) continue;
      // All activations at +-127 times a scale, in pairs of one sign, so that sums are the largest
      // there are.
      std::vector<float> x(4 * 512);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i / 64 % 2 == 0 ? 1.0f : -1.0f;
      check({info.type, 48, 512, 4, Numerics::kFast}, x, 1e-10);
      check({info.type, 48, 512, 1, Numerics::kFast}, {x.begin(), x.begin() + 512}, 1e-10);
    }
  });
}

TEST_CASE_FIXTURE(EveryVariant, "every epilogue works for few and many rows, exact and fast") {
  run([] {
    for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kAdd, Epilogue::kSwiGlu,
                                    Epilogue::kGeGlu, Epilogue::kSoftcap}) {
      for (const uint32_t rows : {8u, 24u, 40u, 64u}) {
        for (const uint32_t n_rows : {1u, 6u, 20u}) {
          check({Type::kQ8_0, rows, 96, n_rows, Numerics::kExact, epilogue}, 1e-10);
          check({Type::kQ4_1, rows, 96, n_rows, Numerics::kFast, epilogue}, 1e-9, 1e-3);
        }
      }
    }
  });
}

TEST_CASE_FIXTURE(EveryVariant, "a bias and a scale come before every epilogue") {
  run([] {
    for (const Epilogue epilogue :
         {Epilogue::kStore, Epilogue::kAdd, Epilogue::kSoftcap, Epilogue::kActivate}) {
      for (const uint32_t rows : {3u, 16u, 37u}) {
        for (const uint32_t n_rows : {1u, 6u}) {
          check({.type = Type::kF16,
                 .rows = rows,
                 .cols = 96,
                 .n_rows = n_rows,
                 .epilogue = epilogue,
                 .bias = true,
                 .scale = 0.6f},
                1e-10);
        }
      }
    }
    check({.type = Type::kQ8_0,
           .rows = 24,
           .cols = 96,
           .n_rows = 3,
           .epilogue = Epilogue::kSwiGlu,
           .scale = 0.6f},
          1e-10);
  });
}

TEST_CASE_FIXTURE(EveryVariant, "every activation may follow a product") {
  run([] {
    for (const Activation activation : kActivations) {
      check({.type = Type::kQ4_0,
             .rows = 37,
             .cols = 96,
             .n_rows = 3,
             .epilogue = Epilogue::kActivate,
             .bias = true,
             .activation = activation},
            1e-10);
    }
  });
}

TEST_CASE("results do not depend on the number of threads") {
  for (const int n_threads : {1, 2, 5}) {
    check({Type::kQ4_K, 300, 512, 1, Numerics::kFast, Epilogue::kStore, n_threads}, 1e-10, 1e-4);
    check({Type::kQ4_K, 300, 512, 100, Numerics::kFast, Epilogue::kStore, n_threads}, 1e-10, 1e-4);
  }
}

TEST_CASE("activations that are all zero, tiny or huge give finite products") {
  std::vector<float> x(3 * 64, 0.0f);
  for (size_t i = 0; i < 64; ++i) x[64 + i] = 1e-38f;
  for (size_t i = 0; i < 64; ++i) x[128 + i] = i == 5 ? 3e4f : 1.0f;
  check({Type::kQ8_0, 16, 64, 3, Numerics::kFast}, x, 1e-10, 1e-4);
  check({Type::kQ8_0, 16, 64, 3, Numerics::kExact}, x, 1e-10);
}

TEST_CASE_FIXTURE(EveryVariant,
                  "the largest products of each row are made again, the others stay") {
  constexpr uint32_t kRows = 5000, kCols = 96, kTokens = 3, kStride = kRows + 5, kColumn = 2;
  const std::vector<std::byte> file = quant::random_rows(Type::kQ8_0, kRows, kCols, 3);
  std::vector<float> weight(size_t{kRows} * kCols);
  quant::info(Type::kQ8_0).decode(file.data(), weight.data(), weight.size());
  const std::vector<float> x = test::normal(kTokens * kCols, 4), bias = test::normal(kRows, 5);
  run([&] {
    auto matrix = CpuMatrix::create(Type::kQ8_0, kRows, kCols, Numerics::kFast);
    REQUIRE(matrix);
    matrix->set_rows(0, file);
    std::vector<std::byte> scratch(matmul_cpu_scratch_bytes(kCols, kTokens) + 64);
    void* place = scratch.data();
    size_t room = scratch.size();
    std::vector<float> y(size_t{kTokens} * kStride, 9.0f), exact = y;
    MatmulCpuArgs args{.weight = &*matrix,
                       .x = x.data(),
                       .y = y.data(),
                       .n_rows = kTokens,
                       .y_stride = kStride,
                       .y_column = kColumn,
                       .bias = bias.data(),
                       .scale = 0.7f,
                       .epilogue = Epilogue::kSoftcap,
                       .softcap = 20.0f};
    args.scratch = static_cast<std::byte*>(std::align(64, room - 64, place, room));
    matmul_ref({.weight = weight.data(),
                .rows = kRows,
                .cols = kCols,
                .x = x.data(),
                .y = exact.data(),
                .n_rows = kTokens,
                .y_stride = kStride,
                .y_column = kColumn,
                .epilogue = Epilogue::kSoftcap,
                .softcap = 20.0f,
                .bias = bias.data(),
                .scale = 0.7f});
    base::ThreadPool pool(2);
    matmul_cpu(pool, args);
    for (const uint32_t at_most : {0u, 7u, kRows}) {
      const std::vector<float> before(y.begin(), y.end());
      const float within = 1.5f;
      matmul_top_cpu(pool, args, within, at_most);
      for (uint32_t t = 0; t < kTokens; ++t) {
        const auto row = [&](const std::vector<float>& all) {
          return std::span(all).subspan(size_t{t} * kStride, kStride);
        };
        const float largest = *std::ranges::max_element(row(before).subspan(kColumn, kRows));
        uint32_t n_near = 0, n_changed = 0;
        for (uint32_t i = 0; i < kStride; ++i) {
          const bool is_product = i >= kColumn && i < kColumn + kRows;
          const bool is_near = is_product && row(before)[i] >= largest - within;
          const float error = std::fabs(row(y)[i] - row(exact)[i]);
          n_near += is_near;
          n_changed += row(y)[i] != row(before)[i];
          if (!is_near) REQUIRE(row(y)[i] == row(before)[i]);
          if (is_near && at_most == kRows) REQUIRE(error < 1e-5f);
        }
        CHECK(n_near > 7);
        CHECK(n_changed <= at_most);
        if (at_most > 0) CHECK(n_changed > 3);
      }
    }
    // Nothing is largest.
    std::fill_n(y.begin(), kStride, -INFINITY);
    const std::vector<float> before(y.begin(), y.begin() + kStride);
    matmul_top_cpu(pool, args, 1, kRows);
    CHECK(std::equal(before.begin(), before.end(), y.begin()));
  });
}

}  // namespace
}  // namespace puna::kernels
