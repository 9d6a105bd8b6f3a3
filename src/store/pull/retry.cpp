#include "store/pull/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

namespace puna::store {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::chrono::milliseconds kMaxDelay{30'000};
constexpr int64_t kMaxRetryAfterS = 600;
constexpr int kMaxSilentTries = 3;  // of a server that does not answer at all: soon said
constexpr std::chrono::milliseconds kPoll{50};

}  // namespace

bool is_passing(int status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
}

bool is_passing(const base::Error& error) { return error.code == ErrorCode::kNetwork; }

Result<std::chrono::milliseconds> delay_before(int n_failed, int backoff_ms,
                                               std::optional<int64_t> retry_after_s) {
  if (retry_after_s) {
    if (*retry_after_s > kMaxRetryAfterS) {
      return fail(
          ErrorCode::kNetwork,
          fmt::format("The server asks to come back in {} s; try again then.", *retry_after_s));
    }
    return std::chrono::milliseconds(*retry_after_s * 1000);
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  const double factor = std::uniform_real_distribution(0.5, 1.5)(random);
  const double ms =
      static_cast<double>(backoff_ms) * static_cast<double>(1 << std::min(n_failed - 1, 10));
  return std::min(kMaxDelay, std::chrono::milliseconds(static_cast<int64_t>(ms * factor)));
}

Result<void> wait_for(std::chrono::milliseconds time, const Reporter& reporter) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    PUNA_TRY(reporter.go_on());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return {};
    std::this_thread::sleep_for(std::min(left, kPoll));
  }
}

Result<io::HttpHead> request_patiently(const io::HttpRequest& request, const io::HttpSink& sink,
                                       const Reporter& reporter) {
  io::HttpRequest asked = request;
  asked.plain_http = reporter.options().insecure;
  asked.cancel = reporter.options().cancel;
  for (int n_failed = 1;; ++n_failed) {
    PUNA_TRY(reporter.go_on());
    Result<io::HttpHead> head = io::http_request(asked, sink);
    const bool again = head ? is_passing(head->status) : is_passing(head.error());
    if (!again || n_failed == (head ? kMaxTries : kMaxSilentTries)) return head;
    PUNA_TRY(const auto delay, delay_before(n_failed, reporter.options().backoff_ms,
                                            head ? head->retry_after_s : std::nullopt));
    PUNA_TRY(wait_for(delay, reporter));
  }
}

Result<TextAnswer> request_text(const io::HttpRequest& request, uint64_t max_bytes,
                                const Reporter& reporter) {
  TextAnswer answer;
  const io::HttpSink sink{
      .head = [&](const io::HttpHead&) -> Result<void> {
        answer.text.clear();
        return {};
      },
      .body = [&](std::span<const std::byte> piece) -> Result<void> {
        if (answer.text.size() + piece.size() > max_bytes) {
          return fail(ErrorCode::kCorrupt,
                      fmt::format("The answer of {} is longer than the {} bytes that it may have.",
                                  request.url, max_bytes));
        }
        answer.text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        return {};
      }};
  PUNA_TRY(answer.head, request_patiently(request, sink, reporter));
  return answer;
}

}  // namespace puna::store
