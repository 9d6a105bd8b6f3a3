// The kernels of sample.h against the CPU, token for token, on an adapter.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cases.h"
#include "kernels/sample/sample_cpu.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kContext = 512;

// The whole sampling buffer.
std::vector<uint32_t> sampling_words(std::span<const DeviceSampling> outputs, uint32_t vocab) {
  const auto n = static_cast<uint32_t>(outputs.size());
  std::vector<uint32_t> words(sampling_bytes(vocab, n) / sizeof(uint32_t));
  for (const SamplingPart& part : sampling_parts(outputs, vocab))
    std::ranges::copy(part.words, words.begin() + static_cast<ptrdiff_t>(part.offset_bytes / 4));
  return words;
}

// A step of up to 16 outputs whose tokens are chosen again and again.
class Choice {
 public:
  // allowed: bits of ids, of every third row; empty: all ids.
  Choice(test::GpuHarness& gpu, uint32_t vocab, std::vector<SamplingParams> params,
         std::vector<uint32_t> allowed = {})
      : gpu_(gpu), params_(std::move(params)), allowed_(std::move(allowed)) {
    for (const SamplingParams& p : params_) outputs_.push_back({p, allowed_of(outputs_.size())});
    const auto n = static_cast<uint32_t>(params_.size());
    args_.label = "sample";
    args_.vocab = vocab;
    args_.context = kContext;
    args_.max_rows = n;
    args_.step = gpu.upload(std::vector<uint32_t>(kStepWords));
    args_.sampling = gpu.upload(sampling_words(outputs_, vocab));
    args_.history = gpu.upload(std::vector<uint32_t>(size_t{n} * kContext));
    args_.logits = gpu.upload(std::vector<float>(size_t{n} * vocab));
    args_.ids = gpu.output(kChosenSteps * kMaxBatch * sizeof(uint32_t));
    args_.scratch = gpu.output(sample_scratch_bytes(args_));
    REQUIRE(sample(gpu.info(), args_, calls_));
  }

  // Row i continues texts[i], in a sequence of its own.
  std::vector<int32_t> gpu(const std::vector<float>& logits,
                           const std::vector<std::vector<int32_t>>& texts) {
    const auto n = static_cast<uint32_t>(params_.size());
    std::vector<uint32_t> step(kStepWords), history(size_t{n} * kContext);
    step[kStepTokenCount] = step[kStepOutputCount] = n;
    for (uint32_t i = 0; i < n; ++i) {
      step[kStepPositions + i] = static_cast<uint32_t>(texts[i].size()) - 1;
      step[kStepSequences + i] = n - 1 - i;
      step[kStepOutputRows + i] = i;
      std::copy(texts[i].begin(), texts[i].end(),
                history.begin() + static_cast<ptrdiff_t>(size_t{n - 1 - i} * kContext));
    }
    gpu_.write(args_.step, std::as_bytes(std::span(step)));
    gpu_.write(args_.history, std::as_bytes(std::span(history)));
    gpu_.write(args_.logits, std::as_bytes(std::span(logits)));
    gpu_.run(calls_, {.n_tokens = n, .n_outputs = n, .cuts = cuts(outputs_, args_.vocab)});
    auto ids = gpu_.read<int32_t>(args_.ids);
    ids.resize(n);
    return ids;
  }
  std::vector<int32_t> cpu(const std::vector<float>& logits,
                           const std::vector<std::vector<int32_t>>& texts) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < params_.size(); ++i) {
      ids.push_back(
          sampler_.sample(params_[i], std::span(logits).subspan(i * args_.vocab, args_.vocab),
                          texts[i], static_cast<uint32_t>(texts[i].size()), allowed_of(i)));
    }
    return ids;
  }

 private:
  std::span<const uint32_t> allowed_of(size_t row) const {
    return row % 3 == 0 ? std::span(allowed_) : std::span<const uint32_t>();
  }

  test::GpuHarness& gpu_;
  std::vector<SamplingParams> params_;
  std::vector<uint32_t> allowed_;
  std::vector<DeviceSampling> outputs_;
  SampleArgs args_;
  std::vector<KernelCall> calls_;
  CpuSampler sampler_;
};

// Compares n draws of random logits, 16 rows of different parameters at a time.
void compare(test::GpuHarness& gpu, uint32_t vocab, uint32_t n, float deviation) {
  CAPTURE(vocab);
  Choice choice(gpu, vocab, test::sampling_cases(vocab));
  for (uint32_t draw = 0; draw < n; draw += 16) {
    const auto logits = test::normal(size_t{16} * vocab, draw + vocab, deviation);
    std::vector<std::vector<int32_t>> texts;
    for (uint32_t i = 0; i < 16; ++i)
      texts.push_back(test::sampling_text(vocab, 1 + (draw * 7 + i * 31) % (kContext - 1), draw));
    REQUIRE(choice.gpu(logits, texts) == choice.cpu(logits, texts));
  }
}

TEST_CASE("10,000 draws on the GPU are those of the CPU, row by row with parameters of its own") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  compare(*gpu, 2003, 10'000, 4.0f);
}

TEST_CASE("draws with nothing but what every WebGPU has are those of the CPU") {
  const auto gpu = test::GpuHarness::open(test::Features::kBaseline);
  if (!gpu) return;
  compare(*gpu, 1501, 1'000, 3.0f);
}

TEST_CASE("draws at any vocabulary size are those of the CPU") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t vocab : {1u, 2u, 3u, 127u, 129u, 1023u, 1025u, 49153u, 262144u, 300001u})
    compare(*gpu, vocab, 32, vocab % 2 == 0 ? 2.0f : 6.0f);
}

TEST_CASE("a filter forbids on the GPU what it forbids on the CPU, row by row") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t vocab : {1u, 33u, 1025u, 49153u}) {
    CAPTURE(vocab);
    for (const bool none : {false, true}) {
      std::vector<uint32_t> allowed((vocab + 31) / 32);
      for (uint32_t id = 0; id < vocab && !none; ++id)
        allowed[id / 32] |= static_cast<uint32_t>(id * 2654435761u >> 31) << id % 32;
      Choice choice(*gpu, vocab, test::sampling_cases(vocab), allowed);
      for (uint32_t draw = 0; draw < 8; ++draw) {
        const auto logits = test::normal(size_t{16} * vocab, draw + vocab, 4.0f);
        const std::vector<std::vector<int32_t>> texts(16, test::sampling_text(vocab, 100, draw));
        const auto ids = choice.gpu(logits, texts);
        REQUIRE(ids == choice.cpu(logits, texts));
        for (size_t row = 0; row < 16; row += 3) {
          const auto id = static_cast<uint32_t>(ids[row]);
          CHECK((ids[row] == kNoToken || (allowed[id / 32] >> id % 32 & 1) == 1));
          if (none) CHECK(ids[row] == kNoToken);
        }
      }
    }
  }
}

TEST_CASE("equal logits, NaN and infinities are chosen from as on the CPU") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t vocab : {129u, 3000u}) {
    CAPTURE(vocab);
    Choice choice(*gpu, vocab, test::sampling_cases(vocab));
    const auto compare_logits = [&](const std::vector<float>& logits) {
      const std::vector<std::vector<int32_t>> texts(16, test::sampling_text(vocab, 100, 1));
      CHECK(choice.gpu(logits, texts) == choice.cpu(logits, texts));
    };
    const auto filled = [&](float value) { return std::vector<float>(size_t{16} * vocab, value); };
    auto v = filled(1.5f);  // all equal
    compare_logits(v);
    for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 5);  // many equal
    compare_logits(v);
    compare_logits(filled(NAN));
    compare_logits(filled(-INFINITY));
    compare_logits(filled(INFINITY));
    v = filled(-INFINITY);
    for (size_t i = 0; i < v.size(); i += 128) v[i] = NAN;
    compare_logits(v);
    for (size_t i = 77; i < v.size(); i += 129) v[i] = -3e38f;
    compare_logits(v);
    v = test::normal(v.size(), 3);
    for (size_t row = 1; row < 16; row += 2) v[row * vocab + 31 * row % vocab] = NAN;
    compare_logits(v);  // every other row
    v = filled(-INFINITY);
    for (size_t row = 0; row < 16; ++row) v[row * vocab + 99] = -3;
    compare_logits(v);  // one number in each
    v = test::normal(v.size(), 3);
    for (size_t i = 5; i < v.size(); i += 100) v[i] = i % 3 == 0 ? NAN : -NAN;
    compare_logits(v);
    for (size_t i = 7; i < v.size(); i += 1000) v[i] = INFINITY;
    compare_logits(v);
    v = filled(1e-39f);  // too small for a normal f32
    for (size_t i = 0; i < v.size(); i += 2) v[i] = -1e-40f;
    compare_logits(v);
    v = test::normal(v.size(), 4, 1e38f);
    compare_logits(v);
  }
}

TEST_CASE("draws of the GPU follow the softmax: chi-square over 10,000 draws") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const uint32_t vocab = 6;
  const std::vector<float> row = {0, 1, 2, -1, 0.5f, 1.25f};
  SamplingParams params;
  params.temperature = 0.7f;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  std::vector<SamplingParams> all(16, params);
  std::vector<float> logits;
  for (size_t i = 0; i < all.size(); ++i) logits.insert(logits.end(), row.begin(), row.end());
  std::vector<double> counts(vocab);
  constexpr uint32_t kDraws = 10'000;
  for (uint32_t draw = 0; draw < kDraws;) {
    for (size_t i = 0; i < all.size(); ++i) all[i].seed = draw + i;
    Choice choice(*gpu, vocab, all);
    for (uint32_t position = 1; position <= 25; ++position, draw += 16) {
      const std::vector<std::vector<int32_t>> texts(16, std::vector<int32_t>(position));
      for (int32_t id : choice.gpu(logits, texts)) ++counts[static_cast<size_t>(id)];
    }
  }
  double total = 0, chi2 = 0;
  for (float l : row) total += std::exp(l / 0.7);
  for (uint32_t i = 0; i < vocab; ++i) {
    const double expected = kDraws * std::exp(row[i] / 0.7) / total;
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  CHECK(chi2 < 20.52);  // 5 degrees of freedom, p = 0.001
}

TEST_CASE(
    "a choice makes the next step: one row an output that goes on, in its place, with the host's "
    "splits") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const uint32_t vocab = 300;
  for (const uint32_t limit : {1u, 4u, 64u}) {
    for (const uint32_t position : {0u, 116u, 117u, 300u}) {
      const uint32_t n_go_on = position == 116 ? 2 : 3;
      const uint32_t ahead = n_go_on == 3 ? 12 : 7;  // what the one that sees most sees next
      // Rows of two prompts and a decode; the last row of each is an output.
      std::vector<uint32_t> step(kStepWords, 77);
      step[kStepTokenCount] = 7;
      step[kStepOutputCount] = 3;
      step[kStepSplitLimit] = limit;
      step[kStepGoOnCount] = n_go_on;
      const uint32_t n_chosen = position;
      step[kStepChoices] = n_chosen;
      const uint32_t rows[] = {2, 3, 6}, sequences[] = {4, 1, 0};
      for (uint32_t i = 0; i < 3; ++i) {
        step[kStepOutputRows + i] = rows[i];
        step[kStepPositions + rows[i]] = position + 5 * i;
        step[kStepSequences + rows[i]] = sequences[i];
      }
      std::vector<float> logits(size_t{3} * vocab);
      for (uint32_t i = 0; i < 3; ++i) logits[i * vocab + 100 * i + 5] = 1;
      SamplingParams greedy;
      greedy.temperature = 0;
      const std::vector<uint32_t> words =
          sampling_words(std::vector<DeviceSampling>(3, {greedy}), vocab);
      std::vector<uint32_t> history(size_t{5} * kContext, 9);
      SampleArgs args;
      args.label = "sample";
      args.vocab = vocab;
      args.context = kContext;
      args.max_rows = 3;
      args.step = gpu->upload(step);
      args.sampling = gpu->upload(words);
      args.history = gpu->upload(history);
      args.logits = gpu->upload(logits);
      args.ids = gpu->output(kChosenSteps * kMaxBatch * sizeof(uint32_t));
      args.scratch = gpu->output(sample_scratch_bytes(args));
      std::vector<KernelCall> calls;
      REQUIRE(sample(gpu->info(), args, calls));
      gpu->run(calls, {.n_tokens = 7, .n_outputs = 3});

      std::vector<uint32_t> want = step;
      want[kStepTokenCount] = want[kStepOutputCount] = n_go_on;
      for (uint32_t i = 0; i < n_go_on; ++i) {
        want[kStepTokens + i] = 100 * i + 5;
        want[kStepPositions + i] = position + 5 * i + 1;
        want[kStepSequences + i] = sequences[i];
        want[kStepOutputRows + i] = i;
        history[sequences[i] * kContext + position + 5 * i + 1] = 100 * i + 5;
      }
      want[kStepChoices] = n_chosen + 1;
      want[kStepSplitCount] = attention_splits(limit, position + ahead).n_splits;
      CHECK(gpu->read<uint32_t>(args.step) == want);
      CHECK(gpu->read<uint32_t>(args.history) == history);
      const auto ids = gpu->read<uint32_t>(args.ids);
      for (uint32_t i = 0; i < 3; ++i)
        CHECK(ids[n_chosen % kChosenSteps * kMaxBatch + i] == 100 * i + 5);
    }
  }
}

TEST_CASE("the next step goes on behind media: by the positions that they leave, seeing no rows") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const uint32_t vocab = 300;
  // Three prompts; the second ends with a picture.
  std::vector<uint32_t> step(kStepWordsOfMedia, 77);
  step[kStepTokenCount] = 6;
  step[kStepOutputCount] = step[kStepGoOnCount] = 3;
  step[kStepSplitLimit] = 1;
  step[kStepChoices] = 0;
  const uint32_t rows[] = {1, 3, 5};
  const std::vector<RowPlace> places = {{{-9, -9, -9}, -9},
                                        {{-9, -9, -9}, -9},
                                        {{0, -1, -2}, -12, 0, 1},
                                        {{0, -2, -2}, -12, 1, 0},
                                        {},
                                        {{1, 2, 3}, 4}};
  std::memcpy(&step[kStepPlaces], places.data(), places.size() * sizeof(RowPlace));
  for (uint32_t i = 0; i < 3; ++i) {
    step[kStepOutputRows + i] = rows[i];
    step[kStepPositions + rows[i]] = 20 + i;
    step[kStepSequences + rows[i]] = i;
  }
  SamplingParams greedy;
  greedy.temperature = 0;
  const std::vector<DeviceSampling> greedy_rows(3, {greedy});
  SampleArgs args;
  args.label = "sample";
  args.vocab = vocab;
  args.context = kContext;
  args.max_rows = 3;
  args.places = true;
  args.step = gpu->upload(step);
  args.sampling = gpu->upload(sampling_words(greedy_rows, vocab));
  args.history = gpu->upload(std::vector<uint32_t>(size_t{3} * kContext));
  args.logits = gpu->upload(std::vector<float>(size_t{3} * vocab));
  args.ids = gpu->output(kChosenSteps * kMaxBatch * sizeof(uint32_t));
  args.scratch = gpu->output(sample_scratch_bytes(args));
  std::vector<KernelCall> calls;
  REQUIRE(sample(gpu->info(), args, calls));
  gpu->run(calls, {.n_tokens = 6, .n_outputs = 3});
  const auto got = gpu->read<uint32_t>(args.step);
  const std::vector<RowPlace> want = {{{-9, -9, -9}, -9}, {{-12, -12, -12}, -12}, {{4, 4, 4}, 4}};
  std::vector<RowPlace> next(3);
  std::memcpy(static_cast<void*>(next.data()), &got[kStepPlaces], next.size() * sizeof(RowPlace));
  CHECK(next == want);
}

}  // namespace
}  // namespace puna::kernels
