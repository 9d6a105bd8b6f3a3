#include "store/pull/hasher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace puna::store {

using base::Result;

namespace {

constexpr size_t kPieceBytes = 1 << 20;

}  // namespace

Hasher::Hasher(const PartFile& file, const std::vector<Chunk>& chunks)
    : file_(file), chunks_(chunks), good_(chunks.size()), buffer_(kPieceBytes), thread_([this] {
        run();
      }) {}

Hasher::~Hasher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Hasher::add(size_t chunk, std::optional<Digest> expected) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.push_back({chunk, expected});
  }
  changed_.notify_all();
}

Result<std::vector<Hasher::Hashed>> Hasher::take() {
  const std::lock_guard lock(mutex_);
  if (error_) return std::unexpected(*error_);
  return std::exchange(hashed_, {});
}

bool Hasher::idle() const {
  const std::lock_guard lock(mutex_);
  return wanted_.empty() && !busy_ && hashed_.empty() && !error_;
}

Digest Hasher::whole() {
  PUNA_CHECK(idle() && front_ == chunks_.size());
  return whole_.finish();
}

void Hasher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !wanted_.empty(); });
    if (stop_) return;
    const Wanted wanted = wanted_.front();
    wanted_.pop_front();
    busy_ = true;
    lock.unlock();
    Result<void> done = hash(wanted);
    lock.lock();
    busy_ = false;
    if (!done) error_ = std::move(done.error());
  }
}

Result<void> Hasher::feed(size_t chunk, Sha256& hash) {
  const auto& [first, bytes, known] = chunks_[chunk];
  for (uint64_t done = 0; done < bytes;) {
    const std::span piece = std::span(buffer_).first(
        static_cast<size_t>(std::min<uint64_t>(buffer_.size(), bytes - done)));
    PUNA_TRY(file_.read(first + done, piece));
    hash.add(piece);
    done += piece.size();
  }
  return {};
}

Result<void> Hasher::hash(const Wanted& wanted) {
  Sha256 hash;
  PUNA_TRY(feed(wanted.chunk, hash));
  Hashed hashed{.chunk = wanted.chunk, .digest = hash.finish()};
  hashed.as_expected = !wanted.expected || *wanted.expected == hashed.digest;
  good_[wanted.chunk] = hashed.as_expected;
  for (; front_ < chunks_.size() && good_[front_]; ++front_) PUNA_TRY(feed(front_, whole_));
  const std::lock_guard lock(mutex_);
  hashed_.push_back(hashed);
  return {};
}

}  // namespace puna::store
