#include "kernels/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"

namespace puna::kernels {
namespace {

using base::ErrorCode;
using base::Result;

constexpr double kEnoughMs = 4;
constexpr int kTries = 3;

// NMSE of b against a; infinite when either is not all plain numbers or a is zero.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, power = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - double{b[i]};
    error += d * d;
    power += double{a[i]} * double{a[i]};
  }
  const bool plain = std::isfinite(error) && std::isfinite(power) && power > 0;
  return plain ? error / power : std::numeric_limits<double>::infinity();
}

class Search {
 public:
  Search(Subject& subject, const SearchLimits& limits) : subject_(subject), limits_(limits) {}

  Result<SearchResult> run() {
    out_.key = subject_.key();
    out_.portable = out_.best = subject_.portable();
    PUNA_TRY(expected_, subject_.output(out_.portable));
    if (difference(expected_, expected_) > 0) {
      return base::fail(
          ErrorCode::kDevice,
          fmt::format("The default of {} gives no plain numbers on this device.", out_.key));
    }
    PUNA_TRY(out_.portable_us, subject_.us(out_.portable, kEnoughMs, kTries));
    out_.best_us = out_.portable_us;
    seen_.push_back(out_.portable);
    while (time_left()) {
      PUNA_TRY(const bool better, round());
      if (!better) break;
    }
    PUNA_TRY(confirm());
    return std::move(out_);
  }

 private:
  bool cancelled() const { return limits_.cancel != nullptr && limits_.cancel->load(); }
  bool time_left() const { return started_.ms() < limits_.budget_ms; }

  // All neighbours of the best. True when one of them is better.
  Result<bool> round() {
    bool better = false;
    KnobValues winner;
    for (const KnobValues& candidate : subject_.neighbours(out_.best)) {
      if (cancelled()) return base::fail(ErrorCode::kCancelled, "Tuning was interrupted.");
      if (!time_left()) break;
      if (std::find(seen_.begin(), seen_.end(), candidate) != seen_.end()) continue;
      seen_.push_back(candidate);
      ++out_.n_tried;
      const Result<double> us = measure(candidate);
      // A device that is gone fails everything after it too.
      if (!us && us.error().code == ErrorCode::kDeviceLost) return std::unexpected(us.error());
      if (!us) {
        ++out_.n_refused;
      } else if (*us * kWorthwhile < out_.best_us) {
        out_.best_us = *us;
        winner = candidate;
        better = true;
      }
    }
    if (better) out_.best = std::move(winner);
    return better;
  }

  Result<double> measure(const KnobValues& candidate) {
    PUNA_TRY(const std::vector<float> got, subject_.output(candidate));
    if (const double nmse = difference(expected_, got); !(nmse <= kSameResult)) {
      return base::fail(ErrorCode::kDevice,
                        fmt::format("A candidate of {} differs by {:.1e}.", out_.key, nmse));
    }
    return subject_.us(candidate, kEnoughMs, kTries);
  }

  // Clocks drift while a search runs: the two that count are measured again side by side.
  Result<void> confirm() {
    if (out_.best == out_.portable) return {};
    double portable = 1e30, best = 1e30;
    for (int i = 0; i < 2; ++i) {
      PUNA_TRY(const double a, subject_.us(out_.portable, kEnoughMs, kTries));
      PUNA_TRY(const double b, subject_.us(out_.best, kEnoughMs, kTries));
      portable = std::min(portable, a);
      best = std::min(best, b);
    }
    out_.portable_us = portable;
    out_.best_us = best;
    if (best * kWorthwhile < portable) return {};
    out_.best = out_.portable;
    out_.best_us = out_.portable_us;
    return {};
  }

  Subject& subject_;
  const SearchLimits& limits_;
  const base::Timer started_;
  std::vector<float> expected_;
  std::vector<KnobValues> seen_;
  SearchResult out_;
};

// A product of the middling weight with either kind of activations.
Result<ActivationChoice> compare(gpu::Device& device, uint32_t n_rows) {
  constexpr uint64_t kCopiesBytes = uint64_t{64} << 20;
  const bool software = device.info().type == gpu::AdapterType::kSoftware;
  const uint32_t side = software ? 256 : 4096;
  MatmulArgs args;
  args.label = "activations";
  args.numerics = Numerics::kFast;
  args.max_rows = n_rows;
  const uint32_t rows = n_rows > 1 ? side / 4 : side;
  args.weight = {quant::Type::kQ4_0, rows, side, {{{}, 0, rows}}};
  PUNA_TRY(auto product, Product::create(device, args, software || n_rows > 1 ? 1 : kCopiesBytes));
  ActivationChoice out;
  Profile profile;
  MatmulArgs tuned = product->args();
  tuned.profile = &profile;
  for (const Activations kind : {Activations::kInt8, Activations::kFloat}) {
    profile.decode = profile.prefill = ActivationChoice{kind, 0, 0};
    const MatmulTuning tuning = default_tuning(device.info(), tuned);
    // Matrix units take neither.
    if (tuning.kernel == MatmulKernel::kMatrix) return out;
    double& us = kind == Activations::kInt8 ? out.int8_us : out.float_us;
    PUNA_TRY(us, product->us(tuning, /*enough_ms=*/3, /*tries=*/2));
  }
  out.choice = out.int8_us <= out.float_us ? Activations::kInt8 : Activations::kFloat;
  return out;
}

}  // namespace

Result<SearchResult> search(Subject& subject, const SearchLimits& limits) {
  return Search(subject, limits).run();
}

Result<ActivationTimes> measure_activations(gpu::Device& device) {
  constexpr uint32_t kRows = 128;
  const base::Timer timer;
  ActivationTimes out;
  PUNA_TRY(out.decode, compare(device, 1));
  if (timer.ms() < kActivationBudgetMs / 2) {
    const bool software = device.info().type == gpu::AdapterType::kSoftware;
    PUNA_TRY(out.prefill, compare(device, software ? 32 : kRows));
  } else {
    out.prefill.choice = out.decode.choice;
  }
  out.took_ms = timer.ms();
  return out;
}

}  // namespace puna::kernels
