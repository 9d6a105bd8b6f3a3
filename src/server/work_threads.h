// Threads for work that takes long and needs no model: each has one, up to a number.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace puna::server {

inline constexpr const char* kTooManyWorks =
    "Too many models are fetched, sent or made already; try again later.";

class WorkThreads {
 public:
  // Pulls and uploads at once: each holds a file and a connection, and more make none of them
  // faster.
  static constexpr size_t kMost = 16;

  WorkThreads() = default;
  ~WorkThreads() { stop(); }
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

  // False: as many run as may, or it was stopped. `cancelled` is set by stop(), and given back as
  // `work` is, once that has ended.
  bool start(std::shared_ptr<std::atomic<bool>> cancelled, std::function<void()> work);
  // Cancels all, and waits for their ends.
  void stop();

 private:
  struct One {
    std::shared_ptr<std::atomic<bool>> cancelled;  // null: its work has ended
    std::atomic<bool> ended = false;
    std::thread thread;
  };

  void let_go(std::shared_ptr<std::atomic<bool>>& cancelled);

  std::mutex mutex_;
  std::list<One> all_;
  bool stopped_ = false;
};

}  // namespace puna::server
