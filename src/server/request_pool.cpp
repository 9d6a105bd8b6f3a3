#include "server/request_pool.h"

#include <algorithm>
#include <utility>

namespace puna::server {

RequestPool::RequestPool(uint32_t n_threads, size_t room) : room_(room) {
  if (n_threads == 0) n_threads = std::max(1U, std::thread::hardware_concurrency());
  for (uint32_t i = 0; i < n_threads; ++i) threads_.emplace_back([this] { run(); });
}

bool RequestPool::post(const std::string& client, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || waiting_.size() >= room_) return false;
    waiting_.push(client, std::move(work));
  }
  came_.notify_one();
  return true;
}

void RequestPool::go_on(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    first_.push_back(std::move(work));
  }
  came_.notify_one();
}

size_t RequestPool::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + first_.size();
}

void RequestPool::stop() {
  std::deque<Work> dropped;
  FairQueue<Work> dropped_too;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    std::swap(dropped, first_);
    std::swap(dropped_too, waiting_);
  }
  came_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void RequestPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    came_.wait(lock, [&] { return stopped_ || !first_.empty() || waiting_.size() > 0; });
    if (stopped_) return;
    Work work;
    if (first_.empty()) {
      work = *waiting_.pop();
    } else {
      work = std::move(first_.front());
      first_.pop_front();
    }
    lock.unlock();
    work();
    work = {};  // what it held goes before the lock comes
    lock.lock();
  }
}

}  // namespace puna::server
