// Reports the progress of a pull a few times a second, and sees a cancel. Shared by the ways of
// getting a file.
#pragma once

#include <algorithm>
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

  // Starts a phase; its total is `total_bytes`. `source` is held as it is, not copied. The phase
  // that is on already goes on: bytes that were told stay told.
  void phase(std::string_view phase, std::string_view source, const Digest& digest,
             uint64_t total_bytes) {
    const bool on = now_.phase == phase && now_.digest == digest && now_.total_bytes == total_bytes;
    now_ = {.phase = phase,
            .source = source,
            .digest = digest,
            .done_bytes = on ? now_.done_bytes : 0,
            .total_bytes = total_bytes};
    tell();
  }
  // Errors: kCancelled.
  base::Result<void> at(uint64_t done_bytes) {
    // What has to be fetched again does not take back what was told.
    now_.done_bytes = std::max(now_.done_bytes, std::min(done_bytes, now_.total_bytes));
    if (done_bytes >= now_.total_bytes || std::chrono::steady_clock::now() - told_ >= kInterval)
      tell();
    return go_on();
  }
  base::Result<void> go_on() const {
    const bool cancelled = options_.cancel && options_.cancel->load(std::memory_order_relaxed);
    if (!cancelled) return {};
    return base::fail(base::ErrorCode::kCancelled, "The work on " + name_ + " was cancelled.");
  }
  const PullOptions& options() const { return options_; }

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
