// argmax.wgsl against sample_ref.h, and advance.wgsl, on an adapter.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

std::vector<uint32_t> argmax_gpu(test::GpuHarness& gpu, const std::vector<float>& logits,
                                 uint32_t n_rows) {
  ArgmaxArgs args;
  args.label = "argmax";
  args.logits = gpu.upload(logits);
  args.ids = gpu.output(n_rows * 4);
  args.vocab = static_cast<uint32_t>(logits.size() / n_rows);
  args.max_rows = n_rows;
  args.scratch = gpu.output(argmax_scratch_bytes(gpu.info(), args));
  std::vector<KernelCall> calls;
  REQUIRE(argmax(gpu.info(), args, calls));
  gpu.run(calls, {.n_tokens = n_rows, .n_outputs = n_rows});
  return gpu.read<uint32_t>(args.ids);
}

TEST_CASE("argmax on the GPU finds the largest logit of each row at any vocabulary size") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t vocab : {1u, 2u, 255u, 2047u, 2048u, 2049u, 49153u, 262144u}) {
    CAPTURE(vocab);
    const std::vector<float> logits = test::normal(size_t{3} * vocab, vocab);
    std::vector<uint32_t> want(3);
    argmax_ref(logits.data(), 3, vocab, want.data());
    CHECK(argmax_gpu(*gpu, logits, 3) == want);
  }
}

TEST_CASE("argmax on the GPU takes the lowest of equals and passes over NaN") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const uint32_t vocab = 5000;
  const auto row = [&](float fill) { return std::vector<float>(vocab, fill); };
  std::vector<float> v = row(1.0f);
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 0);
  v = row(-2.0f);
  v[4999] = v[2048] = v[2047] = 3.0f;
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 2047);
  v = row(-1.0f);
  v[10] = -0.0f;
  v[3000] = 0.0f;
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 10);
  v = row(-INFINITY);
  v[4000] = NAN;
  v[100] = -NAN;
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 0);
  v[0] = NAN;
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 1);
  v[77] = INFINITY;
  CHECK(argmax_gpu(*gpu, v, 1)[0] == 77);
  CHECK(argmax_gpu(*gpu, row(NAN), 1)[0] == 0);
}

TEST_CASE("advance on the GPU chains rows into the next step and counts its splits as the host") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t limit : {1u, 4u, 64u}) {
    for (const uint32_t position : {0u, 116u, 117u, 500u, 9000u}) {
      std::vector<uint32_t> step(kStepWords, 77);
      step[kStepTokenCount] = 3;
      step[kStepSplitLimit] = limit;
      for (uint32_t i = 0; i < 3; ++i) step[kStepPositions + i] = position + 5 * i;
      AdvanceArgs args;
      args.label = "advance";
      args.step = gpu->upload(step);
      args.ids = gpu->upload(std::vector<uint32_t>{5, 6, 7, 8, 9});
      std::vector<KernelCall> calls;
      REQUIRE(advance(gpu->info(), args, calls));
      gpu->run(calls, {.n_tokens = 3});
      gpu->run(calls, {.n_tokens = 3});

      std::vector<uint32_t> want = step;
      for (uint32_t i = 0; i < 3; ++i) {
        want[kStepTokens + i] = 5 + i;
        want[kStepPositions + i] = position + 5 * i + 2;
      }
      want[kStepSplitCount] = attention_splits(limit, want[kStepPositions + 2] + 1).n_splits;
      CHECK(gpu->read<uint32_t>(args.step) == want);
    }
  }
}

}  // namespace
}  // namespace puna::kernels
