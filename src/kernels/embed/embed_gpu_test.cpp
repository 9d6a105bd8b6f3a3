// GPU embedding rows are exactly the decoded rows of the table.
#include <doctest/doctest.h>

#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/embed/add_media.h"
#include "kernels/embed/embed_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/gpu_weight.h"
#include "quant/random_rows.h"

using namespace puna;
using namespace puna::kernels;

namespace {

std::vector<float> embed_on_gpu(test::GpuHarness& gpu, quant::Type type, uint32_t cols,
                                uint32_t chunk_rows, float scale, std::vector<float>& expected) {
  constexpr uint32_t kRows = 22;
  const std::vector<std::byte> file =
      quant::random_rows(type, kRows, cols, cols, 0.02f, /*extremes=*/true);
  std::vector<float> table(size_t{kRows} * cols);
  quant::info(type).decode(file.data(), table.data(), table.size());
  const std::vector<int32_t> tokens = {21, 0, 7, 8, 7, 15, 16};
  EmbedArgs args;
  args.label = "embed";
  args.weight = test::upload_weight(gpu, type, kRows, cols, file, chunk_rows);
  args.step = gpu.step(static_cast<uint32_t>(tokens.size()),
                       std::vector<uint32_t>(tokens.begin(), tokens.end()));
  args.x = gpu.output(tokens.size() * cols * 4);
  args.scale = scale;
  std::vector<KernelCall> calls;
  REQUIRE(embed(gpu.info(), args, calls));
  gpu.run(calls, {.n_tokens = static_cast<uint32_t>(tokens.size())});
  expected.resize(tokens.size() * cols);
  embed_ref(table.data(), cols, tokens.data(), static_cast<uint32_t>(tokens.size()), scale,
            expected.data());
  return gpu.read<float>(args.x);
}

}  // namespace

TEST_CASE("gpu: embedding rows are the decoded rows bit for bit, in one chunk or several") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const quant::TypeInfo& type : quant::types()) {
      CAPTURE(type.name);
      std::vector<float> expected;
      const uint32_t cols = type.block_elements == 1 ? 45 : 2 * type.block_elements;
      CHECK(embed_on_gpu(*gpu, type.type, cols, 0, 1.0f, expected) == expected);
      CHECK(embed_on_gpu(*gpu, type.type, cols, 8, 1.0f, expected) == expected);
    }
  }
}

TEST_CASE("gpu: embedding rows are scaled") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  std::vector<float> expected;
  const std::vector<float> got =
      embed_on_gpu(*gpu, quant::Type::kQ4_0, 96, 0, 22.627417f, expected);
  CHECK(test::nmse(got, expected) < 1e-12);
}

TEST_CASE("gpu: rows of positions and the first row are added to what is there") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    constexpr uint32_t kRows = 22, kCols = 45, kTokens = 4;
    const std::vector<float> table = test::normal(size_t{kRows} * kCols, 1);
    const std::vector<float> start = test::normal(size_t{kTokens} * kCols, 2);
    const auto bytes = std::as_bytes(std::span(table));
    for (const EmbedRow row : {EmbedRow::kPosition, EmbedRow::kFirst}) {
      std::vector<uint32_t> words(kStepWords);
      words[kStepTokenCount] = kTokens;
      const std::vector<int32_t> positions = {3, 21, 0, 8};
      for (uint32_t t = 0; t < kTokens; ++t)
        words[kStepPositions + t] = static_cast<uint32_t>(positions[t]);
      EmbedArgs args;
      args.label = "embed";
      args.weight =
          test::upload_weight(*gpu, quant::Type::kF32, kRows, kCols, bytes, /*chunk_rows=*/8);
      args.step = gpu->upload(words);
      args.x = gpu->output(start.size() * 4);
      gpu->write(args.x, std::as_bytes(std::span(start)));
      args.row = row;
      args.add = true;
      std::vector<KernelCall> calls;
      REQUIRE(embed(gpu->info(), args, calls));
      gpu->run(calls, {.n_tokens = kTokens});
      std::vector<float> expected = start;
      embed_ref(table.data(), kCols, row == EmbedRow::kFirst ? nullptr : positions.data(), kTokens,
                1.0f, expected.data(), /*add=*/true);
      CHECK(gpu->read<float>(args.x) == expected);
    }
  }
}

TEST_CASE("gpu: ids below zero give rows of media, or row 0 where there are none") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    constexpr uint32_t kRows = 22, kCols = 45;
    const std::vector<float> table = test::normal(size_t{kRows} * kCols, 1);
    const std::vector<float> media = test::normal(size_t{3} * kCols, 2);
    const std::vector<int32_t> tokens = {3, -1, -3, 21, -2, 0};
    const auto n = static_cast<uint32_t>(tokens.size());
    for (const EmbedMedia of_media : {EmbedMedia::kRows, EmbedMedia::kFirst}) {
      EmbedArgs args;
      args.label = "embed";
      args.weight = test::upload_weight(*gpu, quant::Type::kF32, kRows, kCols,
                                        std::as_bytes(std::span(table)), /*chunk_rows=*/8);
      args.step = gpu->step(n, std::vector<uint32_t>(tokens.begin(), tokens.end()));
      args.x = gpu->output(tokens.size() * kCols * 4);
      args.scale = 2;
      args.of_media = of_media;
      args.media = gpu->upload(media);
      std::vector<KernelCall> calls;
      REQUIRE(embed(gpu->info(), args, calls));
      gpu->run(calls, {.n_tokens = n});
      std::vector<float> expected(tokens.size() * kCols);
      const float* const rows = of_media == EmbedMedia::kRows ? media.data() : nullptr;
      embed_ref(table.data(), kCols, tokens.data(), n, 2, expected.data(), false, rows);
      CHECK(gpu->read<float>(args.x) == expected);
    }
  }
}

TEST_CASE("gpu: rows of media may be longer, and their further parts are added to theirs alone") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    constexpr uint32_t kRows = 22, kCols = 70, kMedia = 3 * kCols;
    const std::vector<float> table = test::normal(size_t{kRows} * kCols, 1);
    const std::vector<float> media = test::normal(size_t{3} * kMedia, 2);
    const std::vector<int32_t> tokens = {3, -1, -3, 21, -2, 0};
    const auto n = static_cast<uint32_t>(tokens.size());
    EmbedArgs args;
    args.label = "embed";
    args.weight = test::upload_weight(*gpu, quant::Type::kF32, kRows, kCols,
                                      std::as_bytes(std::span(table)), /*chunk_rows=*/8);
    args.step = gpu->step(n, std::vector<uint32_t>(tokens.begin(), tokens.end()));
    args.x = gpu->output(tokens.size() * kCols * 4);
    args.of_media = EmbedMedia::kRows;
    args.media = gpu->upload(media);
    args.media_columns = kMedia;
    const AddMediaShape shape{.n = kCols, .first = 2 * kCols, .columns = kMedia};
    std::vector<KernelCall> calls;
    REQUIRE(embed(gpu->info(), args, calls));
    REQUIRE(add_media(gpu->info(), {"add", args.step, *args.media, args.x, shape}, calls));
    gpu->run(calls, {.n_tokens = n});

    std::vector<float> expected(tokens.size() * kCols);
    for (size_t t = 0; t < n; ++t) {
      const size_t row = static_cast<size_t>(tokens[t] < 0 ? -1 - tokens[t] : tokens[t]);
      for (size_t c = 0; c < kCols; ++c) {
        const float* of_media = &media[row % 3 * kMedia + c];
        expected[t * kCols + c] =
            tokens[t] < 0 ? of_media[0] + of_media[2 * kCols] : table[row * kCols + c];
      }
    }
    CHECK(gpu->read<float>(args.x) == expected);

    // The CPU's, on rows that are there.
    std::vector<float> x(tokens.size() * kCols);
    for (size_t t = 0; t < n; ++t) {
      const size_t row = static_cast<size_t>(tokens[t] < 0 ? -1 - tokens[t] : tokens[t]);
      for (size_t c = 0; c < kCols; ++c)
        x[t * kCols + c] = tokens[t] < 0 ? media[row * kMedia + c] : table[row * kCols + c];
    }
    base::ThreadPool pool(2);
    add_media_cpu(pool, {tokens.data(), n, media.data(), x.data(), shape});
    CHECK(x == expected);
  }
}
