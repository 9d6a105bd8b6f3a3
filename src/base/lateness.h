// Whether a worker of a pool is worth waiting for: the work it takes off the others against the
// time they lose where it keeps them waiting. It is told all times and knows no clock;
// thread_pool.cpp tells it.
#pragma once

#include <algorithm>
#include <chrono>

namespace puna::base {

class Lateness {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = Clock::duration;

  // The worker has done what would have taken the others so long.
  void worked(Duration work) { note(work, {}); }

  // Others waited for it until `now`; `lost` is the time of all of them. Returns how long it is to
  // be left out, zero while it is worth waiting for.
  Duration waited(Duration wait, Duration lost, Clock::time_point now) {
    note({}, lost);
    if (kWorth * lost_ <= work_) return {};
    const bool again = now - rests_until_ < rest_;
    rest_ =
        std::min(std::max(kRestFactor * wait, again ? 2 * rest_ : wait), std::max(kMaxRest, wait));
    rests_until_ = now + rest_;
    return rest_;
  }

  // When the last rest ends.
  Clock::time_point rests_until() const { return rests_until_; }

  // A worker is worth waiting for when its work of late is so many times what was lost. A core that
  // is shared with a busy program gives and takes about as much; one that other threads take for
  // moments gives several times what it takes. More than 1, since short waits are not told of.
  static constexpr int kWorth = 2;
  // A rest is this multiple of the wait that was too much, and twice as long as the one before when
  // that was soon after it: what never pays costs a wait a second.
  static constexpr int kRestFactor = 8;
  static constexpr Duration kMaxRest = std::chrono::seconds(1);
  // "Of late" is so much time of work and waits together, about thirty turns of a scheduler.
  // Rests do not count, so a worker that comes back is known for what it was.
  static constexpr Duration kMemory = std::chrono::milliseconds(200);

 private:
  void note(Duration work, Duration lost) {
    work_ += work;
    lost_ += lost;
    const Duration both = work_ + lost_;
    if (both <= kMemory) return;
    const double kept = std::chrono::duration<double>(kMemory) / both / 2;
    work_ = std::chrono::duration_cast<Duration>(work_ * kept);
    lost_ = std::chrono::duration_cast<Duration>(lost_ * kept);
  }

  Duration work_{}, lost_{};
  Duration rest_{};  // the last one
  Clock::time_point rests_until_;
};

}  // namespace puna::base
