// Later<T>: what a callback brings, asked for now and awaited when it is needed.
#pragma once

#include <coroutine>
#include <functional>
#include <optional>
#include <utility>

#include "base/check.h"

namespace puna::base {

// Stays where it is and lives from callback() until its value has come. co_await takes the value,
// by one waiter; then callback() may be called again.
template <class T>
class Later {
 public:
  Later() = default;
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  // To be called once, before it is awaited or after.
  std::function<void(T)> callback() {
    PUNA_CHECK(!waiter_);
    value_.reset();
    return [this](T value) {
      value_.emplace(std::move(value));
      if (waiter_) std::exchange(waiter_, nullptr).resume();
    };
  }

  bool await_ready() const { return value_.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  T await_resume() { return *std::exchange(value_, std::nullopt); }

 private:
  std::optional<T> value_;
  std::coroutine_handle<> waiter_;
};

}  // namespace puna::base
