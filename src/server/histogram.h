// How often something took how long.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace puna::server {

// Of one request.
struct Durations {
  // Upper bounds in seconds; what is longer than all has a bucket of its own.
  static constexpr std::array kBounds = {0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                         1.0,   2.5,  5.0,   10.0, 30.0, 60.0};
  static constexpr size_t kBuckets = kBounds.size() + 1;

  std::array<uint64_t, kBuckets> counts{};
  uint64_t sum_us = 0;

  void add(double seconds) {
    const auto bucket = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
    ++counts[static_cast<size_t>(bucket)];
    sum_us += static_cast<uint64_t>(std::max(0.0, seconds) * 1e6);
  }
  void add(const Durations& more) {
    for (size_t i = 0; i < kBuckets; ++i) counts[i] += more.counts[i];
    sum_us += more.sum_us;
  }
};

// Of all requests. Any thread.
class Histogram {
 public:
  void add(double seconds) {
    Durations one;
    one.add(seconds);
    add(one);
  }
  void add(const Durations& more) {
    for (size_t i = 0; i < Durations::kBuckets; ++i) counts_[i] += more.counts[i];
    sum_us_ += more.sum_us;
  }
  // `labels`: "model=\"smollm2\"".
  void write(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::array<std::atomic<uint64_t>, Durations::kBuckets> counts_{};
  std::atomic<uint64_t> sum_us_ = 0;
};

}  // namespace puna::server
