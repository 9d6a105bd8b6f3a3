// The pool where threads do not exist (WebAssembly without shared memory): the caller does
// everything.
#include "base/thread_pool.h"

namespace puna::base {

struct ThreadPool::State {};

ThreadPool::ThreadPool(int) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::n_threads() const { return 1; }
int ThreadPool::n_threads_of(int) { return 1; }

void ThreadPool::run(uint32_t n_items, uint32_t,
                     const std::function<void(uint32_t begin, uint32_t end)>& body) {
  if (n_items > 0) body(0, n_items);
}

int thread_index() { return 0; }
int n_physical_cores() { return 1; }

}  // namespace puna::base
