// The bytes of one connection, whatever carries them: TCP, a Unix socket, TLS (sockets.cpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace puna::server {

// All but post() on the connection's thread, where everything is called back too, never from within
// the call. What is passed keeps its captures until it was called or given up.
class Stream {
 public:
  virtual ~Stream() = default;

  // One at a time; `into` stays. 0: the other side has ended, or is gone.
  virtual void read(std::span<char> into, std::function<void(size_t n)> done) = 0;
  // One at a time: all of it, in order. False: the other side is gone.
  virtual void write(std::vector<std::string> pieces, std::function<void(bool ok)> done) = 0;

  // Whether the other side has ended, or is gone, though what it has sent before was not read.
  virtual bool has_ended() = 0;

  enum class Timer { kDeadline, kPing, kWrite, kWatch };
  static constexpr size_t kTimers = 4;
  // In place of what the timer was set to before; null: nothing.
  virtual void after(Timer timer, std::chrono::milliseconds time, std::function<void()> call) = 0;

  // Any thread: called on the connection's, or never, once the server has ended.
  virtual void post(std::function<void()> call) = 0;
  // A stream to a Unix socket, on the same thread, where `done` is called. Errors: kNetwork where
  // nobody listens there; kOutOfMemory where the process has no descriptors left.
  virtual void connect(const std::string& path,
                       std::function<void(base::Result<std::unique_ptr<Stream>>)> done) = 0;

  // Tells the other side that no more comes.
  virtual void end_writing(std::shared_ptr<void> keep) = 0;
  // Gives up whatever is under way. `keep` lives until that is done.
  virtual void close(std::shared_ptr<void> keep) = 0;
};

}  // namespace puna::server
