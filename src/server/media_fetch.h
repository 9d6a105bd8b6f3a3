// Pictures and sounds that requests name by their addresses (--media-url), fetched. Only from
// addresses that everybody can reach, also behind redirects, so that no client has the server ask
// its own network; nothing of the client is told to who answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "io/http/addresses.h"
#include "service/request.h"

namespace puna::server {

struct FetchLimits {
  uint64_t most_bytes = 20 << 20;  // of a file
  uint64_t most_bytes_together = 64 << 20;
  size_t most_files = 16;                  // of a request
  std::chrono::milliseconds time{30'000};  // for all of them
  io::Reach reach = io::Reach::kPublic;    // who has to be able to reach them; less for tests
};

// Whether requests have files that are to be fetched.
bool wants_fetching(std::span<const service::Request> requests);

// Gives them the files, each address once. Errors, with the address: kInvalidArgument for what
// cannot be fetched, or is more than a limit; kCancelled.
base::Result<void> fetch_media(std::span<service::Request> requests, const FetchLimits& limits,
                               const std::atomic<bool>& cancel);

}  // namespace puna::server
