// StepWatch: what any thread may see of the steps of a scheduler: how many there were, and how long
// the one under way has taken beside what it should.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace puna::engine {

class StepWatch {
 public:
  struct Look {
    uint64_t n_steps = 0;  // that have ended
    uint64_t n_texts = 0;  // of all those steps together
    double ms = 0;  // that the one under way, or a chain of them, has taken; 0: there is none
    double expected_ms = 0;  // 0: not known yet
  };

  // On the thread of the scheduler: one step or a chain of them, which should take so long.
  void begin(double expected_ms) {
    expected_ms_ = expected_ms;
    since_ = now();
  }
  void end(uint32_t n_steps, uint64_t n_texts) {
    since_ = kNone;
    n_steps_ += n_steps;
    n_texts_ += n_texts;
  }

  Look look() const {
    Look out{.n_steps = n_steps_, .n_texts = n_texts_};
    if (const int64_t since = since_; since != kNone) {
      out.ms = static_cast<double>(now() - since) / 1e6;
      out.expected_ms = expected_ms_;
    }
    return out;
  }

 private:
  static constexpr int64_t kNone = -1;
  static int64_t now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  std::atomic<int64_t> since_ = kNone;
  std::atomic<double> expected_ms_ = 0;
  std::atomic<uint64_t> n_steps_ = 0, n_texts_ = 0;
};

}  // namespace puna::engine
