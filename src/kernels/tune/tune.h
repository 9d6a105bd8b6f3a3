// Tuning: a search for better knobs, role by role and shape by shape, in bounded time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/profile/profile.h"
#include "kernels/tune/subject.h"

namespace puna::kernels {

struct SearchLimits {
  double budget_ms = 1000;
  const std::atomic<bool>* cancel = nullptr;
};

struct SearchResult {
  std::string key;
  KnobValues portable, best;  // the same when nothing is faster by kWorthwhile
  double portable_us = 0;
  double best_us = 0;
  uint32_t n_tried = 0;
  uint32_t n_refused = 0;  // did not compile, did not run, or gave another result
};

// A candidate must beat the best so far by this factor; less is noise.
constexpr double kWorthwhile = 1.03;
// NMSE that a candidate may differ from the portable default by: the order of f32 sums.
constexpr double kSameResult = 1e-9;

// Coordinate descent from the portable default. Every candidate's result is compared with the
// default's before it is timed; the winner and the default are then timed once more, in turn.
// Errors: kCancelled; kDevice when the default itself does not run, or gives no plain numbers.
base::Result<SearchResult> search(Subject& subject, const SearchLimits& limits);

// Times the products of fast numerics with int8 and with f32 activations, at one row and at many,
// on a middling weight of q4_0: which pays depends on the device's dp4a (it is emulated on some),
// hardly on the shape. Takes about kActivationBudgetMs at most: the second measurement is left out
// when the first took too long.
constexpr double kActivationBudgetMs = 300;
struct ActivationTimes {
  ActivationChoice decode, prefill;
  double took_ms = 0;
};
base::Result<ActivationTimes> measure_activations(gpu::Device& device);

}  // namespace puna::kernels
