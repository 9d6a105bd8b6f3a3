// Inbox: where any thread leaves what the thread of an engine is to do (host.h). The engine looks
// between its steps whether something came; who has nothing else to do waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace puna::service {

class Inbox {
 public:
  using Work = std::function<void()>;

  // Any thread. False: it is closed, and the work was not taken.
  bool post(Work work);
  // Any thread: something changed that the engine should look at.
  void knock();
  // Any thread: the last that is posted, whether it was closed before or not. False: nobody takes
  // work any more.
  bool close(Work last);

  bool closed();

  // Whether take() was not called since something came; costs one atomic read.
  bool pending() const { return pending_.load(std::memory_order_acquire); }
  // The thread of the engine: what was posted, in order; none when that is all.
  std::optional<Work> take();
  // Sleeps until something is pending.
  void wait();
  // Takes no more work, not even a last one. False: there is some left.
  bool finish();

  // Where no thread waits: called each time something comes while nothing was pending, by whoever
  // brings it. Not beside other calls.
  void set_on_mail(std::function<void()> on_mail) { on_mail_ = std::move(on_mail); }

 private:
  void add(std::unique_lock<std::mutex> lock, Work work);  // null: nothing to do

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Work> posted_;
  std::atomic<bool> pending_ = false;
  bool closed_ = false, finished_ = false;
  std::function<void()> on_mail_;
};

}  // namespace puna::service
