// How often a server is asked again, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "io/http/http_client.h"
#include "store/progress.h"

namespace puna::store {

inline constexpr int kMaxTries = 6;

// Whether asking again may help: of an answer's status, and of a request that had none.
bool is_passing(int status);
bool is_passing(const base::Error& error);

// Before the try that follows `n_failed` failed ones: twice as long each time, at most 30 s, with
// jitter, so that many who failed together do not come back together; or as the server asks for.
// Errors: kNetwork, for a wait longer than anybody would sit through.
base::Result<std::chrono::milliseconds> delay_before(int n_failed, int backoff_ms,
                                                     std::optional<int64_t> retry_after_s);

// Sleeps while looking at `reporter` for a cancel. Errors: kCancelled.
base::Result<void> wait_for(std::chrono::milliseconds time, const Reporter& reporter);

// A small request, tried again as above; its answer, whose status is the caller's to judge. Errors:
// those of io::http_request. `sink` starts over with each try.
base::Result<io::HttpHead> request_patiently(const io::HttpRequest& request,
                                             const io::HttpSink& sink, const Reporter& reporter);

// The same for an answer that is a text of at most `max_bytes`. Errors: also kCorrupt for a longer
// one.
struct TextAnswer {
  io::HttpHead head;
  std::string text;
};
base::Result<TextAnswer> request_text(const io::HttpRequest& request, uint64_t max_bytes,
                                      const Reporter& reporter);

}  // namespace puna::store
