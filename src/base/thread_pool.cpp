// The pool with real threads. A job is open while chunks remain; a worker that has not joined by
// then is not waited for. Waiting spins for a moment, then sleeps: a spinning thread would hold the
// core that the awaited one needs. A worker that is taken off its core inside a chunk keeps
// everyone waiting, for milliseconds where other programs run. One that is not worth that
// (lateness.h) is left out of the jobs that follow for some time, so that a busy machine costs the
// work of that core and little more.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "base/cpu_relax.h"
#include "base/lateness.h"
#include "base/parking.h"

namespace puna::base {
namespace {

// Long enough to bridge the gap between two kernels of a decode step (a sleeping thread takes 5 to
// 50 us to come back).
constexpr auto kSpin = std::chrono::microseconds(60);
constexpr int kRelaxesPerClock = 32;
// Chunks a thread gets in one job when the grain allows: few enough to be cheap, enough to even out
// unequal cores.
constexpr uint32_t kChunksPerThread = 6;
constexpr int kMaxThreads = 256;

using Clock = Lateness::Clock;
// A worker is late when its last chunk takes this much longer than the caller's took on average
// (slow cores of a hybrid processor are two to three times slower), and at least so long.
constexpr int kLateChunks = 4;
constexpr Clock::duration kLate = std::chrono::microseconds(300);

thread_local int index_of_this_thread = 0;

// Spins until done() or until kSpin is over; returns done().
template <class Done>
bool spin_until(Done done) {
  const auto end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < kRelaxesPerClock; ++i) {
      if (done()) return true;
      cpu_relax();
    }
  } while (Clock::now() < end);
  return done();
}

}  // namespace

struct ThreadPool::State {
  // The word that workers join by: epoch (16 bits) | stop | open | workers inside (14 bits).
  static constexpr uint32_t kInside = 0x3fff;
  static constexpr uint32_t kOpen = 0x4000;
  static constexpr uint32_t kStop = 0x8000;
  static constexpr uint32_t kEpoch = 0x10000;

  struct alignas(64) Worker {
    std::atomic<bool> inside{false};   // a job
    std::atomic<uint32_t> resting{0};  // 1: joins none
    std::atomic<uint32_t> n_taken{0};  // chunks; wraps around
    // The caller's notes.
    uint32_t n_credited = 0;  // of its chunks
    Lateness lateness;
    std::thread thread;

    bool rests() const { return resting.load(std::memory_order_acquire) != 0; }
  };

  // Written by the caller while no worker is inside.
  const std::function<void(uint32_t, uint32_t)>* body = nullptr;
  uint32_t n_items = 0;
  uint32_t chunk = 0;

  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<uint32_t> next{0};   // first chunk not taken
  alignas(64) std::atomic<uint32_t> empty{0};  // changes when the last worker leaves a closed job
  std::deque<Worker> workers;
  size_t n_resting = 0;
  Clock::duration work_done{};  // by workers, that none of them was credited with yet

  uint32_t n_chunks() const { return (n_items + chunk - 1) / chunk; }

  // Returns how many it took.
  uint32_t take_chunks() {
    const uint32_t n = n_chunks();
    for (uint32_t taken = 0;; ++taken) {
      const uint32_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= n) return taken;
      const uint32_t begin = i * chunk;
      (*body)(begin, std::min(n_items - begin, chunk) + begin);
    }
  }

  void work(Worker& self) {
    uint32_t seen = 0;  // epoch of the last job joined
    for (;;) {
      while (self.rests()) park(self.resting, 1);
      uint32_t gate_now = 0;
      const auto called = [&] {
        gate_now = gate.load(std::memory_order_acquire);
        return (gate_now & kStop) != 0 || ((gate_now & kOpen) != 0 && gate_now / kEpoch != seen);
      };
      if (!spin_until(called)) {
        park(gate, gate_now);
        continue;
      }
      if ((gate_now & kStop) != 0) return;
      if (self.rests()) continue;
      if (!gate.compare_exchange_strong(gate_now, gate_now + 1, std::memory_order_acq_rel))
        continue;
      self.inside.store(true, std::memory_order_relaxed);
      seen = gate_now / kEpoch;
      const uint32_t taken = take_chunks();
      self.n_taken.store(self.n_taken.load(std::memory_order_relaxed) + taken,
                         std::memory_order_relaxed);
      self.inside.store(false, std::memory_order_relaxed);
      const uint32_t left = gate.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((left & (kInside | kOpen)) == 0) {
        empty.fetch_add(1, std::memory_order_release);
        unpark_one(empty);
      }
    }
  }

  bool is_empty() const { return (gate.load(std::memory_order_acquire) & kInside) == 0; }

  // Waits until no worker is inside; those that are still there after `late` may have to rest.
  void close_and_wait(Clock::duration late) {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    if (spin_until([&] { return is_empty(); })) return;
    const Clock::time_point begin = Clock::now();
    while (Clock::now() - begin < late) {
      if (spin_until([&] { return is_empty(); })) return;
    }
    std::deque<Worker*> late_ones;
    for (Worker& worker : workers) {
      if (worker.inside.load(std::memory_order_relaxed)) late_ones.push_back(&worker);
    }
    while (!spin_until([&] { return is_empty(); })) {
      const uint32_t before = empty.load(std::memory_order_acquire);
      if (is_empty()) break;
      park(empty, before);
    }
    credit_work();
    const Clock::time_point now = Clock::now();
    const Clock::duration waited = now - begin;
    const auto n_others = static_cast<int>(workers.size() - n_resting);
    for (Worker* worker : late_ones) {
      if (worker->lateness.waited(waited, n_others * waited, now) == Clock::duration::zero())
        continue;
      worker->resting.store(1, std::memory_order_release);
      ++n_resting;
    }
  }

  // Deals the workers' work out by the chunks that each has taken.
  void credit_work() {
    uint32_t n_all = 0;
    for (const Worker& worker : workers)
      n_all += worker.n_taken.load(std::memory_order_relaxed) - worker.n_credited;
    if (n_all == 0) return;
    for (Worker& worker : workers) {
      const uint32_t n_taken = worker.n_taken.load(std::memory_order_relaxed);
      const double share = static_cast<double>(n_taken - worker.n_credited) / n_all;
      worker.lateness.worked(std::chrono::duration_cast<Clock::duration>(work_done * share));
      worker.n_credited = n_taken;
    }
    work_done = {};
  }

  void call_back_rested() {
    const Clock::time_point now = Clock::now();
    for (Worker& worker : workers) {
      if (!worker.rests() || now < worker.lateness.rests_until()) continue;
      wake(worker);
      --n_resting;
    }
  }
  static void wake(Worker& worker) {
    worker.resting.store(0, std::memory_order_release);
    unpark_one(worker.resting);
  }
};

int ThreadPool::n_threads_of(int asked) {
  return std::min(asked > 0 ? asked : n_physical_cores(), kMaxThreads);
}

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  const int n = n_threads_of(n_threads);
  for (int i = 1; i < n; ++i) {
    State::Worker& worker = state_->workers.emplace_back();
    worker.thread = std::thread([state = state_.get(), &worker, i] {
      index_of_this_thread = i;
      state->work(worker);
    });
  }
}

ThreadPool::~ThreadPool() {
  state_->gate.fetch_or(State::kStop);
  unpark_all(state_->gate);
  for (State::Worker& worker : state_->workers) State::wake(worker);
  for (State::Worker& worker : state_->workers) worker.thread.join();
}

int thread_index() { return index_of_this_thread; }

int ThreadPool::n_threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(uint32_t n_items, uint32_t grain,
                     const std::function<void(uint32_t begin, uint32_t end)>& body) {
  if (n_items == 0) return;
  grain = std::max(grain, 1u);
  State& state = *state_;
  if (state.n_resting > 0) state.call_back_rested();
  if (state.n_resting == state.workers.size() || n_items <= grain) return body(0, n_items);
  const uint32_t n_wanted =
      static_cast<uint32_t>(state.workers.size() - state.n_resting + 1) * kChunksPerThread;
  const uint32_t grains = (n_items - 1) / grain + 1;
  state.body = &body;
  state.n_items = n_items;
  state.chunk = ((grains - 1) / n_wanted + 1) * grain;
  const uint32_t n_chunks = state.n_chunks();
  state.next.store(0, std::memory_order_relaxed);
  const uint32_t epoch = state.gate.load(std::memory_order_relaxed) / State::kEpoch;
  state.gate.store((epoch + 1) * State::kEpoch | State::kOpen);
  unpark_all(state.gate);
  const Clock::time_point begin = Clock::now();
  const uint32_t taken = state.take_chunks();
  const Clock::duration all_mine = Clock::now() - begin;
  const Clock::duration mine = all_mine / std::max(taken, 1u);
  const auto n_working = static_cast<int>(state.workers.size() - state.n_resting);
  state.work_done += std::min((n_chunks - taken) * mine, n_working * all_mine);
  state.close_and_wait(std::max(kLateChunks * mine, kLate));
}

}  // namespace puna::base
