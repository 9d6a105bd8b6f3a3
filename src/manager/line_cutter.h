// LineCutter: lines of bytes that come in pieces from a program that may write whatever it likes:
// long lines are cut off, and no more are told of than may come in a second.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace puna::manager {

class LineCutter {
 public:
  struct Limits {
    size_t most_bytes = 4096;  // of a line; the rest of it is dropped
    uint32_t most_lines = 0;   // in a second; 0: any number
    std::chrono::milliseconds second{1000};
  };
  using Clock = std::chrono::steady_clock;

  explicit LineCutter(Limits limits) : limits_(limits) {}

  // `told` of each line without its end; `dropped` of how many were not told of, once others are
  // again.
  void put(std::string_view piece, Clock::time_point now,
           const std::function<void(std::string_view line)>& told,
           const std::function<void(uint64_t n)>& dropped);
  // What is left, which had no end.
  std::string take_rest() { return std::exchange(line_, {}); }

 private:
  const Limits limits_;
  std::string line_;
  uint32_t n_told_ = 0;  // since begun_
  uint64_t n_dropped_ = 0;
  Clock::time_point begun_{};
};

}  // namespace puna::manager
