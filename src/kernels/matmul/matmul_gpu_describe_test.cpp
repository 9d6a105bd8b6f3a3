// Matmul and embed as data: what is described, what is refused, and that every variant expands.
// Needs no GPU.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/sanitized.h"
#include "kernels/embed/embed.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/testing/devices.h"
#include "quant/planes.h"

using namespace puna;
using namespace puna::kernels;
using test::with_matrix_units;

namespace {

MatmulArgs args_for(quant::Type type, uint32_t rows, uint32_t cols, uint32_t max_rows,
                    Numerics numerics) {
  MatmulArgs args;
  args.label = "w";
  args.weight = {
      type, rows, cols, {{{0, 0, quant::plane_layout(type, rows, cols).bytes}, 0, rows}}};
  args.step = {1, 0, 8192};
  args.x = {2, 0, uint64_t{cols} * max_rows * 4};
  args.y = {2, 1 << 24, uint64_t{rows} * max_rows * 4};
  args.scratch = {2, 1 << 26, 1 << 26};
  args.y_stride = rows;
  args.numerics = numerics;
  args.max_rows = max_rows;
  return args;
}

std::vector<gpu::DeviceInfo> devices() {
  std::vector<gpu::DeviceInfo> all(3);
  all[1].subgroups = true;
  all[1].subgroup_min = 8;
  all[1].subgroup_max = 32;
  all[2] = all[1];
  all[2].subgroup_min = all[2].subgroup_max = 128;
  all[2].type = gpu::AdapterType::kSoftware;
  all[2].slow_compiler = true;
  all.push_back(with_matrix_units());
  all.push_back(test::with_f32_matrix_units());
  return all;
}

std::string message(const MatmulArgs& args) {
  std::vector<KernelCall> calls;
  const auto described = matmul({}, args, calls);
  return described ? std::string() : described.error().message;
}

}  // namespace

TEST_CASE("every variant of a product and every embedding expands on every kind of device") {
  size_t n = 0;
  for (const gpu::DeviceInfo& device : devices()) {
    for (const MatmulVariant& variant : matmul_variants()) {
      if (n++ % base::kOneOf != 0) continue;  // all take half a minute there
      CAPTURE(variant.name);
      const MatmulArgs args = args_for(variant.type, 64, 14336, variant.max_rows, variant.numerics);
      std::vector<KernelCall> calls;
      REQUIRE(matmul(device, args, calls));
      EmbedArgs embed_args{.label = "e", .weight = args.weight, .step = args.step, .x = args.x};
      REQUIRE(embed(device, embed_args, calls));
      for (const KernelCall& call : calls) {
        const auto text = expand(call, device);
        REQUIRE_MESSAGE(text, text.error().text());
        CHECK(call.bindings.size() <= device.limits.max_storage_buffers);
      }
    }
  }
}

TEST_CASE("fast products of several rows quantize x first, unless the scratch holds it already") {
  MatmulArgs args = args_for(quant::Type::kQ4_0, 64, 256, 8, Numerics::kFast);
  std::vector<KernelCall> calls;
  REQUIRE(matmul({}, args, calls));
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].kernel == "matmul/quantize.wgsl");
  CHECK(calls[1].kernel == "matmul/matvec.wgsl");
  calls.clear();
  args.x_in_scratch = true;
  REQUIRE(matmul({}, args, calls));
  CHECK(calls.size() == 1);
  CHECK(matmul_scratch_bytes({}, args) == 8 * 8 * 48);
  args.numerics = Numerics::kExact;
  CHECK(matmul_scratch_bytes({}, args) == 0);
}

TEST_CASE("tiles of f32 are those that half as much workgroup memory holds") {
  const MatmulArgs args = args_for(quant::Type::kF16, 4096, 4096, 512, Numerics::kFast);
  gpu::DeviceInfo device = test::with_f32_matrix_units();
  const auto large = [&] { return matrix_tiles(device, args).front(); };
  CHECK(large().step_units == 1);  // 64 rows of 256 + 16 bytes, twice, exceed 32 KiB
  device.matrix.f32 = false;
  CHECK(large().step_units == 2);
  device.f16 = false;
  CHECK(matrix_tiles(device, args).empty());
  device.matrix.f32 = true;  // the operands' type needs nothing of the shader
  CHECK(large().fragments_m == 4);
}

// Of q4_0 on a GPU with matrix units.
MatrixTuning tiles(uint32_t rows, uint32_t cols, uint32_t max_rows) {
  const MatmulTuning tuning = default_tuning(
      with_matrix_units(), args_for(quant::Type::kQ4_0, rows, cols, max_rows, Numerics::kFast));
  REQUIRE(tuning.kernel == MatmulKernel::kMatrix);
  return tuning.matrix;
}

TEST_CASE("few rows of a large weight are requested two steps ahead where there are matrix units") {
  for (const uint32_t max_rows : {32u, 64u}) {
    const MatrixTuning wide = tiles(28672, 4096, max_rows);
    CHECK(wide.steps_ahead == 2);
    CHECK(wide.n_splits == 1);
    const MatrixTuning square = tiles(4096, 4096, max_rows);
    CHECK(square.steps_ahead == 2);
    CHECK(square.n_splits == 4);
    CHECK(tiles(2048, 2048, max_rows).steps_ahead == 1);
    // 129 units are no whole turns.
    CHECK(tiles(4096, 4128, max_rows).steps_ahead == 1);
  }
  // Up to 32 rows a tile has 128 rows of the weight where that leaves a GPU enough of them.
  CHECK(tiles(28672, 4096, 32).subgroups_n == 4);
  CHECK(tiles(4096, 14336, 32).n_splits == 8);
  CHECK(tiles(6144, 4096, 32).subgroups_n == 2);
  CHECK(tiles(28672, 4096, 64).subgroups_n == 1);
}

TEST_CASE("a loop over K stays one where its text would be long, and the product is short") {
  const gpu::DeviceInfo device = with_matrix_units();
  const auto is_short = [&](quant::Type type, uint32_t rows, uint32_t cols, uint32_t max_rows) {
    std::vector<KernelCall> calls;
    REQUIRE(matmul(device, args_for(type, rows, cols, max_rows, Numerics::kFast), calls));
    const auto product = std::ranges::find(calls, "matmul/gemm_matrix.wgsl", &KernelCall::kernel);
    REQUIRE(product != calls.end());
    const auto text = expand(*product, device);
    REQUIRE(text);
    return text->find("step[STEP_ZEROS + ") != std::string::npos;
  };
  using quant::Type;
  for (const uint32_t max_rows : {32u, 64u, 128u, 256u}) {
    CHECK(is_short(Type::kQ6_K, 4096, 14336, max_rows));
    CHECK(!is_short(Type::kF16, 4096, 4096, max_rows));
  }
  // What counts is a product's work, not its rows.
  CHECK(is_short(Type::kQ4_0, 28672, 4096, 128));
  CHECK(!is_short(Type::kQ4_0, 28672, 4096, 256));
  CHECK(is_short(Type::kQ4_0, 16384, 2048, 512));
  CHECK(is_short(Type::kQ4_0, 4096, 4096, 512));
  CHECK(!is_short(Type::kQ4_0, 4096, 14336, 512));
  // Two turns for each of eight workgroups.
  CHECK(!is_short(Type::kQ4_0, 3072, 2048, 32));
}

TEST_CASE("workgroups share K where tiles of matrix units are fewer than a GPU's cores") {
  const auto splits = [](uint32_t rows, uint32_t cols, uint32_t max_rows) {
    return tiles(rows, cols, max_rows).n_splits;
  };
  CHECK(splits(4096, 4096, 128) == 4);
  CHECK(splits(4096, 4096, 256) == 2);
  CHECK(splits(4096, 14336, 256) == 2);
  CHECK(splits(2048, 8192, 512) == 2);
  CHECK(splits(2048, 8192, 128) == 8);
  CHECK(splits(2048, 2048, 64) == 8);
  // 96 tiles and more are enough.
  CHECK(splits(6144, 4096, 256) == 1);
  CHECK(splits(4096, 4096, 512) == 1);
  CHECK(splits(28672, 4096, 128) == 1);
  // No four steps of K would be left for each.
  CHECK(splits(2048, 256, 256) == 2);
  // 33 units are no whole turns of two.
  CHECK(splits(4096, 1056, 256) == 1);
}

TEST_CASE(
    "large tiles go by one set of subgroups where those leave no more places empty than two") {
  const auto sets = [](quant::Type type, uint32_t rows, uint32_t cols, uint32_t max_rows) {
    return default_tuning(with_matrix_units(),
                          args_for(type, rows, cols, max_rows, Numerics::kFast))
        .matrix.subgroups_k;
  };
  using quant::Type;
  CHECK(sets(Type::kQ4_0, 28672, 4096, 2048) == 1);
  CHECK(sets(Type::kF16, 4096, 14336, 2048) == 1);
  CHECK(sets(Type::kQ4_0, 16384, 2048, 512) == 1);
  CHECK(sets(Type::kQ4_0, 28672, 4096, 512) == 2);
  CHECK(sets(Type::kQ4_0, 4096, 14336, 512) == 2);
  CHECK(sets(Type::kQ8_0, 28672, 4096, 2048) == 2);
  // With half the rows, which such a step may have too, most places would be empty.
  CHECK(sets(Type::kQ4_0, 2048, 8192, 2048) == 2);
}

TEST_CASE("9 to 16 rows of x meet large products in tiles of matrix units") {
  const auto kernel = [](quant::Type type, uint32_t rows, uint32_t cols, uint32_t max_rows) {
    return default_tuning(with_matrix_units(),
                          args_for(type, rows, cols, max_rows, Numerics::kFast))
        .kernel;
  };
  using quant::Type;
  CHECK(kernel(Type::kQ4_K, 28672, 4096, 16) == MatmulKernel::kMatrix);
  CHECK(kernel(Type::kQ4_K, 4096, 14336, 16) == MatmulKernel::kMatrix);
  CHECK(kernel(Type::kQ4_0, 28672, 4096, 16) == MatmulKernel::kMatrix);
  // Mat-vecs of q4_0 are too fast for that, and so are all where a product is no large one.
  CHECK(kernel(Type::kQ4_0, 4096, 14336, 16) == MatmulKernel::kMatvec);
  CHECK(kernel(Type::kQ4_K, 6144, 4096, 16) == MatmulKernel::kMatvec);
  CHECK(kernel(Type::kQ4_K, 28672, 4096, 8) == MatmulKernel::kMatvec);
  CHECK(kernel(Type::kF16, 28672, 4096, 16) == MatmulKernel::kMatvec);
}

TEST_CASE("more workgroups than one dimension holds go on in the second") {
  const MatmulArgs args = args_for(quant::Type::kQ4_0, 4'000'000, 32, 1, Numerics::kExact);
  std::vector<KernelCall> calls;
  REQUIRE(matmul({}, args, calls));
  const StepShape shape;
  const uint64_t x = workgroups(calls[0].x, shape);
  const uint64_t y = workgroups(calls[0].y, shape);
  CHECK(x <= 65535);
  CHECK(x * y * 32 >= 4'000'000);
}

TEST_CASE("products that cannot be are refused with the value that is wrong") {
  const MatmulArgs good = args_for(quant::Type::kQ4_0, 64, 256, 8, Numerics::kFast);
  CHECK(message(good).empty());
  MatmulArgs args = good;
  args.y_column = 1;
  CHECK(message(args) == "Product w writes columns 1 to 65 of rows of 64.");
  args = good;
  args.epilogue = Epilogue::kSoftcap;
  CHECK(message(args) == "Product w has a softcap of 0; it must be above 0.");
  args = good;
  args.max_rows = 65536;
  CHECK(message(args) == "Product w is asked for 65536 rows (limit 65535).");
  args = good;
  args.weight.rows = 65;
  CHECK(message(args) == "Product w has chunks of 64 rows together and a weight of 65.");
  args = good;
  args.scratch.bytes = 256;
  CHECK(message(args) == "Product w has 256 bytes of scratch and needs 3072.");
  args = args_for(quant::Type::kQ4_0, 60, 256, 1, Numerics::kFast);
  args.epilogue = Epilogue::kSwiGlu;
  CHECK(message(args) ==
        "Product w is gated and has a chunk of 60 rows, which is no multiple of 8.");
}
