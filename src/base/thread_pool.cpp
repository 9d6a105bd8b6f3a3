// The pool with real threads. A job is open while chunks remain; a worker that has not joined by
// then is not waited for, so a worker that the system keeps off its core costs nothing. Waiting
// spins for a moment, then sleeps: a spinning thread would hold the core that the awaited one
// needs.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/cpu_relax.h"

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

thread_local int index_of_this_thread = 0;

// Spins until done() or until kSpin is over; returns done().
template <class Done>
bool spin_until(Done done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kRelaxesPerClock; ++i) {
      if (done()) return true;
      cpu_relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

struct ThreadPool::State {
  // The word that workers join by: epoch (16 bits) | stop | open | workers inside (14 bits).
  static constexpr uint32_t kInside = 0x3fff;
  static constexpr uint32_t kOpen = 0x4000;
  static constexpr uint32_t kStop = 0x8000;
  static constexpr uint32_t kEpoch = 0x10000;

  // Written by the caller while no worker is inside.
  const std::function<void(uint32_t, uint32_t)>* body = nullptr;
  uint32_t n_items = 0;
  uint32_t chunk = 0;

  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<uint32_t> next{0};   // first chunk not taken
  alignas(64) std::atomic<uint32_t> empty{0};  // changes when the last worker leaves a closed job
  std::vector<std::thread> threads;

  void take_chunks() {
    const uint32_t n_chunks = (n_items + chunk - 1) / chunk;
    for (;;) {
      const uint32_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= n_chunks) return;
      const uint32_t begin = i * chunk;
      (*body)(begin, std::min(n_items - begin, chunk) + begin);
    }
  }

  void work() {
    uint32_t seen = 0;  // epoch of the last job joined
    for (;;) {
      uint32_t gate_now = 0;
      const auto called = [&] {
        gate_now = gate.load(std::memory_order_acquire);
        return (gate_now & kStop) != 0 || ((gate_now & kOpen) != 0 && gate_now / kEpoch != seen);
      };
      if (!spin_until(called)) {
        gate.wait(gate_now);
        continue;
      }
      if ((gate_now & kStop) != 0) return;
      if (!gate.compare_exchange_strong(gate_now, gate_now + 1, std::memory_order_acq_rel))
        continue;
      seen = gate_now / kEpoch;
      take_chunks();
      const uint32_t left = gate.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((left & (kInside | kOpen)) == 0) {
        empty.fetch_add(1, std::memory_order_release);
        empty.notify_one();
      }
    }
  }

  void close_and_wait() {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    const auto is_empty = [&] { return (gate.load(std::memory_order_acquire) & kInside) == 0; };
    while (!spin_until(is_empty)) {
      const uint32_t before = empty.load(std::memory_order_acquire);
      if (is_empty()) return;
      empty.wait(before);
    }
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  const int n = std::min(n_threads > 0 ? n_threads : n_physical_cores(), kMaxThreads);
  for (int i = 1; i < n; ++i) {
    state_->threads.emplace_back([state = state_.get(), i] {
      index_of_this_thread = i;
      state->work();
    });
  }
}

ThreadPool::~ThreadPool() {
  state_->gate.fetch_or(State::kStop);
  state_->gate.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int thread_index() { return index_of_this_thread; }

int ThreadPool::n_threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::run(uint32_t n_items, uint32_t grain,
                     const std::function<void(uint32_t begin, uint32_t end)>& body) {
  if (n_items == 0) return;
  grain = std::max(grain, 1u);
  if (state_->threads.empty() || n_items <= grain) return body(0, n_items);
  const uint32_t n_wanted = static_cast<uint32_t>(n_threads()) * kChunksPerThread;
  const uint32_t grains = (n_items - 1) / grain + 1;
  State& state = *state_;
  state.body = &body;
  state.n_items = n_items;
  state.chunk = ((grains - 1) / n_wanted + 1) * grain;
  state.next.store(0, std::memory_order_relaxed);
  const uint32_t epoch = state.gate.load(std::memory_order_relaxed) / State::kEpoch;
  state.gate.store((epoch + 1) * State::kEpoch | State::kOpen);
  state.gate.notify_all();
  state.take_chunks();
  state.close_and_wait();
}

}  // namespace puna::base
