// What the CPU can do at most, with all threads of a pool: plain reads of memory and arithmetic in
// registers.
#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/pages.h"
#include "kernels/ceiling/ceiling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ceiling/ceiling_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The sum of n words, a multiple of four vectors.
uint64_t read_words(const uint64_t* words, size_t n) {
  const hn::ScalableTag<uint64_t> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, e = a, f = a;
  for (size_t i = 0; i < n; i += 4 * lanes) {
    a = hn::Add(a, hn::Load(d, words + i));
    b = hn::Add(b, hn::Load(d, words + i + lanes));
    e = hn::Add(e, hn::Load(d, words + i + 2 * lanes));
    f = hn::Add(f, hn::Load(d, words + i + 3 * lanes));
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(a, b), hn::Add(e, f)));
}

// Twelve chains, enough for two units of a latency of five. n loops; gives the operations done.
template <class D, class Step>
HWY_INLINE double run_chains(D d, size_t n, double ops_a_lane, Step step) {
  auto a = hn::Zero(d), b = a, c = a, e = a, f = a, g = a;
  auto h = a, i = a, j = a, k = a, l = a, m = a;
  for (size_t loop = 0; loop < n; ++loop) {
    a = step(a), b = step(b), c = step(c), e = step(e), f = step(f), g = step(g);
    h = step(h), i = step(i), j = step(j), k = step(k), l = step(l), m = step(m);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(f, g));
  const auto rest = hn::Add(hn::Add(hn::Add(h, i), hn::Add(j, k)), hn::Add(l, m));
  hwy::PreventElision(hn::GetLane(hn::Add(sum, rest)));
  return 12 * static_cast<double>(n * hn::Lanes(d)) * ops_a_lane;
}

double multiply_f32(size_t n) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.5f);
  return run_chains(d, n, 2, [&](auto sum) { return hn::MulAdd(sum, x, x); });
}

// As the int8 products do it: AVX2 adds products of small codes in 16 bits first.
double multiply_int8(size_t n) {
#if HWY_TARGET == HWY_AVX2
  const hn::ScalableTag<int16_t> d;
  const auto w = hn::Set(hn::Repartition<uint8_t, decltype(d)>(), 3);
  const auto x = hn::Set(hn::Repartition<int8_t, decltype(d)>(), -2);
  return run_chains(d, n, 4,
                    [&](auto sum) { return hn::Add(sum, hn::SatWidenMulPairwiseAdd(d, w, x)); });
#else
  const hn::ScalableTag<int32_t> d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  const auto w = hn::Set(hn::Repartition<uint8_t, decltype(d)>(), 3);
#else
  const auto w = hn::Set(hn::Repartition<int8_t, decltype(d)>(), 3);
#endif
  const auto x = hn::Set(hn::Repartition<int8_t, decltype(d)>(), -2);
  return run_chains(d, n, 8, [&](auto sum) { return hn::SumOfMulQuadAccumulate(d, w, x, sum); });
#endif
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(read_words);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_int8);

namespace {

constexpr uint64_t kColdBytes = uint64_t{256} << 20;  // more than the caches of most machines
constexpr uint32_t kPieceWords = 1 << 15;
constexpr size_t kLoops = 200000;
constexpr int kTries = 5;

// Operations in a nanosecond of all threads together: the best of some tries.
template <class Run>
double best_rate(base::ThreadPool& pool, uint32_t n_items, const Run& run) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::atomic<double> done = 0;
    const base::Timer timer;
    pool.run(n_items, 1, [&](uint32_t begin, uint32_t end) {
      for (uint32_t item = begin; item < end; ++item) done += run(item);
    });
    best = std::max(best, done / timer.ms() / 1e6);
  }
  return best;
}

}  // namespace

base::Result<Ceilings> measure_ceilings(base::ThreadPool& pool) {
  PUNA_TRY(const base::Pages memory, base::Pages::allocate(kColdBytes));
  auto* words = reinterpret_cast<uint64_t*>(memory.data());
  const auto n_pieces = static_cast<uint32_t>(kColdBytes / sizeof(uint64_t) / kPieceWords);
  // Pages that were never written are all one page.
  pool.run(n_pieces, 1, [&](uint32_t begin, uint32_t end) {
    std::fill(words + size_t{begin} * kPieceWords, words + size_t{end} * kPieceWords, 1);
  });
  std::atomic<uint64_t> sum = 0;
  Ceilings out;
  out.read_gb_per_s = best_rate(pool, n_pieces, [&](uint32_t piece) {
    sum += HWY_DYNAMIC_DISPATCH(read_words)(words + size_t{piece} * kPieceWords, kPieceWords);
    return static_cast<double>(kPieceWords * sizeof(uint64_t));
  });
  const auto n_threads = static_cast<uint32_t>(pool.n_threads());
  out.f32_tflops = best_rate(pool, n_threads,
                             [](uint32_t) { return HWY_DYNAMIC_DISPATCH(multiply_f32)(kLoops); }) /
                   1e3;
  out.int8_tops = best_rate(pool, n_threads,
                            [](uint32_t) { return HWY_DYNAMIC_DISPATCH(multiply_int8)(kLoops); }) /
                  1e3;
  return out;
}

}  // namespace puna::kernels
#endif
