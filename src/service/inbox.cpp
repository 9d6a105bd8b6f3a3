#include "service/inbox.h"

#include <utility>

namespace puna::service {

void Inbox::add(std::unique_lock<std::mutex> lock, Work work) {
  if (work) posted_.push_back(std::move(work));
  if (pending_.exchange(true)) return;
  came_.notify_one();
  lock.unlock();
  if (on_mail_) on_mail_();
}

bool Inbox::post(Work work) {
  std::unique_lock lock(mutex_);
  if (closed_) return false;
  add(std::move(lock), std::move(work));
  return true;
}

void Inbox::knock() { add(std::unique_lock(mutex_), {}); }

bool Inbox::close(Work last) {
  std::unique_lock lock(mutex_);
  if (finished_) return false;
  closed_ = true;
  add(std::move(lock), std::move(last));
  return true;
}

bool Inbox::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::optional<Inbox::Work> Inbox::take() {
  const std::lock_guard lock(mutex_);
  if (posted_.empty()) {
    pending_ = false;
    return {};
  }
  Work work = std::move(posted_.front());
  posted_.pop_front();
  return work;
}

void Inbox::wait() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [&] { return pending(); });
}

bool Inbox::finish() {
  const std::lock_guard lock(mutex_);
  if (!posted_.empty()) return false;
  return closed_ = finished_ = true;
}

}  // namespace puna::service
