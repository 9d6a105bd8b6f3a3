// Task<T>: a lazily started coroutine for anything that may wait (a read, a buffer map, a
// pipeline). The core co_awaits; only the edge drives: native code with run_until(), a page by
// returning to its event loop.
//
//   Task<Result<Header>> read_header(io::ByteSource& source) {
//     std::vector<std::byte> bytes(64);
//     PUNA_CO_TRY(co_await io::read(source, 0, bytes));
//     co_return parse(bytes);
//   }
//
// await_callback<T>() turns a function that takes a completion callback into something to co_await;
// the callback may run before the function returns or later on the engine thread, exactly once.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"

namespace puna::base {

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> continuation;

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        auto next = h.promise().continuation;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void unhandled_exception() { PUNA_CHECK(false && "exception in a Task"); }
    template <class U = T>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs until the first wait. Only for the edge; inside a coroutine, co_await the task.
  void start() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  // The value; call once, when done().
  T take() {
    PUNA_CHECK(handle_.promise().value.has_value());
    return *std::move(handle_.promise().value);
  }

  // Starts the task here, so that one that never waits is over when its caller goes on: a loop over
  // such tasks would otherwise grow the stack where calls in tail position are calls like others
  // (WebAssembly, sanitizers).
  bool await_ready() noexcept {
    handle_.resume();
    return handle_.done();
  }
  void await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation = caller;
  }
  T await_resume() { return take(); }

 private:
  // Hides the frame's address from the optimiser. Clang 19 may otherwise move the frame to the
  // caller's stack and then take it for granted that no call made from there can reach it, so that
  // a loop waiting for done() never ends (seen at -O2).
  explicit Task(std::coroutine_handle<promise_type> h) {
    void* address = h.address();
    asm volatile("" : "+r"(address));
    handle_ = std::coroutine_handle<promise_type>::from_address(address);
  }
  std::coroutine_handle<promise_type> handle_;
};

// Drives `task` to its end; `poll` is called whenever the task waits and must let callbacks run (it
// may block).
template <class T, class Poll>
T run_until(Task<T> task, Poll&& poll) {
  task.start();
  while (!task.done()) poll();
  return task.take();
}

namespace detail {
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { PUNA_CHECK(false && "exception in a Task"); }
  };
};
}  // namespace detail

// Starts `task` and passes its value to `done`, before this returns or later: a coroutine behind an
// interface of callbacks. What the task refers to outlives it.
template <class T>
detail::Detached deliver(Task<T> task, std::function<void(T)> done) {
  done(co_await std::move(task));
}

// co_await await_callback<T>([&](std::function<void(T)> done) { ... }) yields the T passed to
// `done`.
template <class T, class Start>
auto await_callback(Start start) {
  struct State {
    std::optional<T> value;
    std::coroutine_handle<> waiter;
  };
  struct Awaiter {
    Start start;
    std::shared_ptr<State> state = std::make_shared<State>();
    bool await_ready() {
      start([s = state](T v) {
        s->value.emplace(std::move(v));
        if (s->waiter) std::exchange(s->waiter, nullptr).resume();
      });
      return state->value.has_value();
    }
    void await_suspend(std::coroutine_handle<> h) { state->waiter = h; }
    T await_resume() { return *std::move(state->value); }
  };
  return Awaiter{std::move(start)};
}

}  // namespace puna::base
