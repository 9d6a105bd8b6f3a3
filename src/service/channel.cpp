#include "service/channel.h"

#include <utility>

namespace puna::service {

void Channel::push(Piece piece) {
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_) return;
    const bool was_ready = is_ready();
    pieces_.push_back(std::move(piece));
    if (pieces_.size() >= room_) control_->hold = true;
    if (was_ready) return;
    ready_.notify_all();
  }
  if (on_ready_) on_ready_();
}

void Channel::push(const engine::PromptProgress& progress) {
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_) return;
    const bool was_ready = is_ready();
    if (progress_.size() > 1) progress_.pop_back();
    progress_.push_back(progress);
    if (was_ready) return;
    ready_.notify_all();
  }
  if (on_ready_) on_ready_();
}

void Channel::end(base::Result<engine::GenerateStats> result) {
  {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    control_->hold = false;
    if (abandoned_) return;
    ready_.notify_all();
  }
  if (on_ready_) on_ready_();
}

Channel::Taken Channel::take() {
  const std::lock_guard lock(mutex_);
  Taken out;
  if (!progress_.empty()) {
    out.progress = progress_.front();
    progress_.pop_front();
    return out;
  }
  if (pieces_.empty()) return out;
  out.piece = std::move(pieces_.front());
  pieces_.pop_front();
  if (pieces_.size() <= room_ / 2) out.released = control_->hold.exchange(false);
  return out;
}

const base::Result<engine::GenerateStats>* Channel::result() {
  const std::lock_guard lock(mutex_);
  return progress_.empty() && pieces_.empty() && result_ ? &*result_ : nullptr;
}

bool Channel::wait(std::optional<std::chrono::milliseconds> timeout) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return is_ready(); };
  if (timeout) return ready_.wait_for(lock, *timeout, ready);
  ready_.wait(lock, ready);
  return true;
}

bool Channel::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  progress_.clear();
  pieces_.clear();
  // The control of a text that has ended may be another one's already.
  if (result_) return false;
  return control_->cancel = true;
}

}  // namespace puna::service
