#include "server/work_threads.h"

#include <utility>

namespace puna::server {

bool WorkThreads::start(std::shared_ptr<std::atomic<bool>> cancelled, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  for (auto one = all_.begin(); one != all_.end();) {
    if (!one->ended) {
      ++one;
      continue;
    }
    one->thread.join();
    one = all_.erase(one);
  }
  if (stopped_ || all_.size() >= kMost) return false;
  One& one = all_.emplace_back();
  one.cancelled = std::move(cancelled);
  one.thread = std::thread([this, &one, work = std::move(work)]() mutable {
    work();
    // What it held goes before it counts as ended, without the mutex: the last of it may be large.
    work = nullptr;
    let_go(one.cancelled);
    one.ended = true;
  });
  return true;
}

void WorkThreads::let_go(std::shared_ptr<std::atomic<bool>>& cancelled) {
  std::shared_ptr<std::atomic<bool>> last;
  const std::lock_guard lock(mutex_);
  last.swap(cancelled);
}

void WorkThreads::stop() {
  std::list<One> all;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (One& one : all_) {
      if (one.cancelled) *one.cancelled = true;
    }
    std::swap(all, all_);
  }
  for (One& one : all) one.thread.join();
}

}  // namespace puna::server
