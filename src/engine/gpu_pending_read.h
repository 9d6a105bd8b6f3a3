// A read-back that is under way while other things are done.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"

namespace puna::engine {

class PendingRead {
 public:
  // The first bytes of a kReadback buffer, once all that was submitted has run. Both this and `out`
  // outlive done(), which is awaited before the next start().
  void start(gpu::Device& device, gpu::BufferId buffer, std::span<std::byte> out) {
    result_.reset();
    waiter_ = nullptr;
    device.read_back(buffer, 0, out, [this](base::Result<void> result) {
      if (waiter_) {
        std::exchange(waiter_, nullptr)(std::move(result));
      } else {
        result_ = std::move(result);
      }
    });
  }
  base::Task<base::Result<void>> done() {
    co_return co_await base::await_callback<base::Result<void>>([&](gpu::ReadDone done) {
      if (result_) {
        done(*std::exchange(result_, std::nullopt));
      } else {
        waiter_ = std::move(done);
      }
    });
  }

 private:
  std::optional<base::Result<void>> result_;
  gpu::ReadDone waiter_;
};

}  // namespace puna::engine
