// The threads on which requests are read: JSON, endpoints, templates, tokens. Socket threads hand
// requests over here, so that a long one delays nobody's stream.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/fair_queue.h"

namespace puna::server {

class RequestPool {
 public:
  using Work = std::function<void()>;

  RequestPool(uint32_t n_threads, size_t room);
  ~RequestPool() { stop(); }
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  // Clients take turns. False: as many wait as there is room for, or it was stopped.
  bool post(const std::string& client, Work work);
  // What goes on with a request that was taken before: it has no limit, and comes first. Nothing
  // happens after stop().
  void go_on(Work work);

  size_t n_waiting() const;
  // Drops what waits and ends the threads.
  void stop();

 private:
  void run();

  const size_t room_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Work> first_;
  FairQueue<Work> waiting_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace puna::server
