// Reports the progress of a pull a few times a second, and sees a cancel. Shared by the ways of
// getting a file.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace puna::store {

class Reporter {
 public:
  // `options` outlives the reporter.
  Reporter(const PullOptions& options, std::string name)
      : options_(options), name_(std::move(name)) {}

  // Starts a phase; its total is `total_bytes`.
  void phase(std::string_view phase, std::string_view source, uint64_t total_bytes) {
    now_ = {.phase = phase, .source = source, .done_bytes = 0, .total_bytes = total_bytes};
    tell();
  }
  // Errors: kCancelled.
  base::Result<void> at(uint64_t done_bytes) {
    now_.done_bytes = done_bytes;
    if (done_bytes >= now_.total_bytes || std::chrono::steady_clock::now() - told_ >= kInterval)
      tell();
    return go_on();
  }
  base::Result<void> go_on() const {
    const bool cancelled = options_.cancel && options_.cancel->load(std::memory_order_relaxed);
    if (!cancelled) return {};
    return base::fail(base::ErrorCode::kCancelled, "The pull of " + name_ + " was cancelled.");
  }
  const std::atomic<bool>* cancel() const { return options_.cancel; }

 private:
  static constexpr std::chrono::milliseconds kInterval{100};

  void tell() {
    told_ = std::chrono::steady_clock::now();
    if (options_.progress) options_.progress(now_);
  }

  const PullOptions& options_;
  std::string name_;
  Progress now_;
  std::chrono::steady_clock::time_point told_;
};

}  // namespace puna::store
