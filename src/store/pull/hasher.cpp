#include "store/pull/hasher.h"

#include <utility>

#include "base/check.h"

namespace puna::store {

using base::Result;

Hasher::Hasher(const PartFile& file, const std::vector<Chunk>& chunks)
    : file_(file), chunks_(chunks), added_(chunks.size()), thread_([this] { run(); }) {}

Hasher::~Hasher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Hasher::add(size_t chunk, std::optional<Checksum> expected) {
  {
    const std::lock_guard lock(mutex_);
    added_[chunk] = {.there = true, .expected = expected};
    if (chunk != front_) return;  // the thread comes to it, or waits for another
  }
  changed_.notify_all();
}

Result<std::vector<size_t>> Hasher::take_damaged() {
  const std::lock_guard lock(mutex_);
  if (error_) return std::unexpected(*error_);
  return std::exchange(damaged_, {});
}

bool Hasher::idle() const {
  const std::lock_guard lock(mutex_);
  return is_idle();
}

void Hasher::wait_for_idle(std::chrono::milliseconds at_most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [&] { return !has_next() || error_; });
}

Digest Hasher::whole() {
  PUNA_CHECK(idle() && front_ == chunks_.size());
  return whole_.finish();
}

void Hasher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || has_next(); });
    if (stop_) return;
    const std::optional<Checksum> expected = added_[front_].expected;
    lock.unlock();
    Result<bool> as_expected = hash(chunks_[front_], expected);
    lock.lock();
    if (!as_expected) {
      error_ = std::move(as_expected.error());
      changed_.notify_all();
      return;
    }
    if (*as_expected) {
      ++front_;
    } else {
      added_[front_].there = false;
      damaged_.push_back(front_);
    }
    if (!has_next()) changed_.notify_all();
  }
}

Result<bool> Hasher::hash(const Chunk& chunk, const std::optional<Checksum>& expected) {
  std::optional<Sha256> before;
  Xxh3 checksum;
  if (expected) before = whole_.copy();
  PUNA_TRY(file_.read_pieces(chunk.first, chunk.bytes, [&](auto piece) {
    whole_.add(piece);
    if (expected) checksum.add(piece);
  }));
  if (!expected || checksum.value() == *expected) return true;
  whole_ = *std::move(before);
  return false;
}

}  // namespace puna::store
