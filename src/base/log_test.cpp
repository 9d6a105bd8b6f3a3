#include "base/log.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace puna;

TEST_CASE("a line is whole, whatever thread writes it") {
  constexpr int kThreads = 8, kLines = 200;
  std::string all;
  base::set_log_sink(
      [&](base::LogLevel, std::string_view text) {
        for (const char c : text) {
          all += c;
          std::this_thread::yield();
        }
        all += '\n';
      },
      base::LogLevel::kInfo);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < kLines; ++i) {
        base::log_info("line {} of {}", i, thread);
        base::log_debug("below the lowest level");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);

  // Of each thread all lines, in order.
  std::vector<int> next(kThreads);
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string line = all.substr(at, end - at);
    const auto thread = static_cast<size_t>(line.back() - '0');
    REQUIRE(thread < kThreads);
    REQUIRE(line == fmt::format("line {} of {}", next[thread]++, thread));
    at = end + 1;
  }
  for (const int n : next) CHECK(n == kLines);
}
