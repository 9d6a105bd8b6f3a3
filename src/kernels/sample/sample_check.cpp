// The self-test of sampling, which is exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cpu.h"
#include "kernels/sample/sample_ref.h"
#include "kernels/sample/sampling.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> sample_on_gpu(gpu::Device& device, std::span<const SamplingParams> params,
                           std::span<const std::vector<int32_t>> texts,
                           std::span<const float> logits, std::span<int32_t> ids) {
  Workbench bench(device);
  const auto n_rows = static_cast<uint32_t>(ids.size());
  SampleArgs a;
  a.label = "sample";
  a.vocab = static_cast<uint32_t>(logits.size() / n_rows);
  a.max_rows = batch_class(n_rows);
  for (const auto& text : texts) a.context = std::max(a.context, uint32_t(text.size()) + 1);
  std::vector<uint32_t> step(kStepWords), history(size_t{n_rows} * a.context);
  step[kStepTokenCount] = step[kStepOutputCount] = n_rows;
  for (uint32_t i = 0; i < n_rows; ++i) {
    step[kStepPositions + i] = static_cast<uint32_t>(texts[i].size()) - 1;
    step[kStepSequences + i] = step[kStepOutputRows + i] = i;
    std::ranges::copy(texts[i], history.begin() + ptrdiff_t(size_t{i} * a.context));
  }
  std::vector<DeviceSampling> outputs;
  for (const SamplingParams& p : params) outputs.push_back({p});
  std::vector<uint32_t> words(static_cast<size_t>(sampling_bytes(a.vocab, n_rows)) /
                              sizeof(uint32_t));
  for (const SamplingPart& part : sampling_parts(outputs, a.vocab))
    std::ranges::copy(part.words, words.begin() + ptrdiff_t(part.offset_bytes / 4));
  PUNA_TRY(a.step, bench.upload(std::span<const uint32_t>(step)));
  PUNA_TRY(a.sampling, bench.upload(std::span<const uint32_t>(words)));
  PUNA_TRY(a.history, bench.upload(std::span<const uint32_t>(history)));
  PUNA_TRY(a.logits, bench.upload(logits));
  PUNA_TRY(a.ids, bench.output(kChosenSteps * kMaxBatch));
  PUNA_TRY(a.scratch, bench.output(sample_scratch_bytes(a) / 4));
  std::vector<KernelCall> calls;
  PUNA_TRY(kernels::sample(bench.info(), a, calls));
  PUNA_TRY(
      bench.run(calls, {.n_tokens = n_rows, .n_outputs = n_rows, .cuts = cuts(outputs, a.vocab)}));
  return bench.read(a.ids, ids.data(), n_rows);
}

Result<void> sample_on(Check& check, std::span<const SamplingParams> params,
                       std::span<const std::vector<int32_t>> texts, std::span<const float> logits,
                       std::span<int32_t> ids) {
  if (check.gpu()) return sample_on_gpu(*check.gpu(), params, texts, logits, ids);
  CpuSampler sampler;
  const size_t vocab = logits.size() / ids.size();
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = sampler.sample(params[i], logits.subspan(i * vocab, vocab), texts[i],
                            static_cast<uint32_t>(texts[i].size()));
  }
  return {};
}

Result<void> sample(Check& check, const char* type, const SamplingParams& params, uint32_t vocab) {
  if (!check.wanted("sample", type)) return {};
  const uint32_t n_rows = 8;
  auto logits = normal(size_t{n_rows} * vocab, 18, 0, 3);
  logits[vocab - 1] = logits[7] = 50;  // equal
  logits[5] = NAN;
  std::vector<SamplingParams> all(n_rows, params);
  std::vector<std::vector<int32_t>> texts(n_rows);
  std::vector<int32_t> ids(n_rows);
  std::vector<float> expected;
  for (uint32_t i = 0; i < n_rows; ++i) {
    all[i].seed = i;
    for (uint32_t t = 0; t <= 40 * i; ++t)
      texts[i].push_back(static_cast<int32_t>(t * 2654435761u % vocab));
    expected.push_back(
        static_cast<float>(sample_ref(all[i], std::span(logits).subspan(size_t{i} * vocab, vocab),
                                      texts[i], static_cast<uint32_t>(texts[i].size()))));
  }
  PUNA_TRY(sample_on(check, all, texts, logits, ids));
  return check.record("sample", type, fmt::format("{} rows of {}", n_rows, vocab),
                      nmse(std::vector<float>(ids.begin(), ids.end()), expected), 0);
}

Result<void> sample(Check& check, uint32_t vocab) {
  SamplingParams greedy, plain, top_p, adjusted;
  greedy.temperature = 0;
  for (SamplingParams* p : {&plain, &top_p, &adjusted}) *p = {.top_k = 0, .top_p = 1, .min_p = 0};
  top_p.top_p = 0.9f;
  adjusted.repeat_penalty = 1.2f;
  adjusted.presence_penalty = 0.5f;
  adjusted.frequency_penalty = 0.1f;
  adjusted.logit_bias = {{3, -INFINITY}, {9, 4.5f}};
  PUNA_TRY(sample(check, "greedy", greedy, vocab));
  PUNA_TRY(sample(check, "temperature", plain, vocab));
  PUNA_TRY(sample(check, "top-p", top_p, vocab));
  PUNA_TRY(sample(check, "all cuts", {}, vocab));
  return sample(check, "penalties", adjusted, vocab);
}

}  // namespace

Result<void> check_sample(Check& check) {
  for (const uint32_t vocab : {97u, 32000u, 128256u}) PUNA_TRY(sample(check, vocab));
  return {};
}

}  // namespace puna::kernels
