// A fixed set of threads that run one function together, once per call: the CPU kernels' way to use
// several cores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace puna::base {

class ThreadPool {
 public:
  // n_threads counts the calling thread; 0 = one per physical core.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const;
  // Those of a pool for which so many are asked.
  static int n_threads_of(int asked);

  // Calls body(begin, end) on disjoint ranges that cover [0, n_items), in chunks of at least
  // `grain` items taken as threads become free, and returns when all are done. One caller at a
  // time; body must not call run(). A thread that the system takes off its core so often that
  // it is not worth waiting for (lateness.h) is left out of the jobs after that for a while.
  void run(uint32_t n_items, uint32_t grain,
           const std::function<void(uint32_t begin, uint32_t end)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Index of the calling thread among those that run the current job: 0 for the one that called
// run(), below n_threads().
int thread_index();

// Physical cores this process may use (affinity and cgroup limits counted), at least 1.
int n_physical_cores();

}  // namespace puna::base
