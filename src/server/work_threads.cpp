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
  one.thread = std::thread([&one, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // what it held goes before it counts as ended
    one.ended = true;
  });
  return true;
}

void WorkThreads::stop() {
  std::list<One> all;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (One& one : all_) *one.cancelled = true;
    std::swap(all, all_);
  }
  for (One& one : all) one.thread.join();
}

}  // namespace puna::server
