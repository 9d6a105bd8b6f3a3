#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "io/read_ahead.h"

namespace puna::io {
namespace {

// Linux takes no more at a time than a device reads ahead by itself, often less.
constexpr uint64_t kChunk = 2 << 20;
// Bytes that are asked for and not read yet: what a disk gives while a vocabulary is read.
constexpr uint64_t kAhead = 256 << 20;
// Parts that are never read hold it up: then it gives up.
constexpr std::chrono::seconds kPatience(10);

class Asker final : public ReadAhead {
 public:
  Asker(int fd, std::span<const ByteRange> ranges)
      : fd_(fd), ranges_(ranges.begin(), ranges.end()), thread_([this] { run(); }) {}
  ~Asker() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void passed(uint64_t bytes) override {
    {
      const std::lock_guard lock(mutex_);
      read_ += bytes;
    }
    changed_.notify_all();
  }

 private:
  void run() {
    uint64_t asked = 0;
    for (const ByteRange& range : ranges_) {
      for (uint64_t at = 0; at < range.bytes; at += kChunk) {
        std::unique_lock lock(mutex_);
        const auto may_go_on = [&] { return stop_ || asked < read_ + kAhead; };
        if (!changed_.wait_for(lock, kPatience, may_go_on) || stop_) return;
        lock.unlock();
        const uint64_t n = std::min(kChunk, range.bytes - at);
        // It is advice: what cannot be had is read all the same.
        ::posix_fadvise(fd_, static_cast<off_t>(range.offset + at), static_cast<off_t>(n),
                        POSIX_FADV_WILLNEED);
        asked += n;
      }
    }
  }

  const int fd_;
  const std::vector<ByteRange> ranges_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t read_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ReadAhead> ReadAhead::start(int fd, std::span<const ByteRange> ranges) {
  return std::make_unique<Asker>(fd, ranges);
}

}  // namespace puna::io
