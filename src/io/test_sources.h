// For tests: a source that answers later, as a page's does. The one that fails at the n-th read is
// failing() in byte_source.h.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "io/byte_source.h"

namespace puna::io {

// Reads queued by deferred sources; pump() runs the oldest and its callback.
class ReadQueue {
 public:
  void push(std::function<void()> read) { reads_.push_back(std::move(read)); }
  bool pump() {
    if (reads_.empty()) return false;
    auto read = std::move(reads_.front());
    reads_.pop_front();
    read();
    return true;
  }

 private:
  std::deque<std::function<void()>> reads_;
};

class DeferredSource final : public ByteSource {
 public:
  DeferredSource(std::unique_ptr<ByteSource> inner, ReadQueue& queue)
      : inner_(std::move(inner)), queue_(queue) {}
  uint64_t size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void read(uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    queue_.push([this, offset, out, done = std::move(done)]() mutable {
      inner_->read(offset, out, std::move(done));
    });
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  ReadQueue& queue_;
};

}  // namespace puna::io
