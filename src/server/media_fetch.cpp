#include "server/media_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/http/http_client.h"

namespace puna::server {

using base::ErrorCode;
using base::Result;

namespace {

using Clock = std::chrono::steady_clock;
using File = std::shared_ptr<const service::MediaFile>;

bool is_remote(const service::PlacedMedia& one) { return one.file && !one.file->url.empty(); }

class Fetch {
 public:
  Fetch(const FetchLimits& limits, const std::atomic<bool>& cancel)
      : limits_(limits), cancel_(cancel), until_(Clock::now() + limits.time) {}

  // The file at the address of `file`.
  Result<File> get(const service::MediaFile& file) {
    const auto known = files_.find(file.url);
    if (known != files_.end()) return known->second;
    if (files_.size() == limits_.most_files) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("The request names more than {} addresses of files.", limits_.most_files));
    }
    auto fetched = std::make_shared<service::MediaFile>(service::MediaFile{
        .name = fmt::format("{} ({})", file.name, file.url), .sense = file.sense, .bytes = {}});
    auto done = fetch(file.url, fetched->bytes);
    if (!done) {
      // What a stranger's server does is no failure of ours.
      if (done.error().code != ErrorCode::kCancelled)
        done.error().code = ErrorCode::kInvalidArgument;
      done.error().context.push_back(fmt::format("While fetching {}", fetched->name));
      return std::unexpected(std::move(done.error()));
    }
    return files_.emplace(file.url, std::move(fetched)).first->second;
  }

 private:
  Result<void> fetch(const std::string& url, std::vector<std::byte>& out) {
    io::HttpRequest request;
    request.url = url;
    request.plain_http = true;
    request.direct = true;  // a proxy would look up names itself
    request.lowest_reach = limits_.reach;
    request.stall_timeout_s = 10;
    request.cancel = &cancel_;
    io::HttpSink sink;
    sink.head = [&](const io::HttpHead& head) { return check_size(head.total_bytes); };
    sink.body = [&](std::span<const std::byte> piece) -> Result<void> {
      PUNA_TRY(check_size(out.size() + piece.size()));
      if (Clock::now() > until_) {
        return base::fail(ErrorCode::kInvalidArgument,
                          fmt::format("Files take more than the {} ms that there are for them.",
                                      limits_.time.count()));
      }
      out.insert(out.end(), piece.begin(), piece.end());
      return {};
    };
    PUNA_TRY(const io::HttpHead head, io::http_request(std::move(request), std::move(sink)));
    if (!head.ok()) return std::unexpected(io::status_error(head));
    together_ += out.size();
    return {};
  }

  Result<void> check_size(uint64_t bytes) const {
    const uint64_t left = limits_.most_bytes_together - together_;
    const uint64_t room = std::min(limits_.most_bytes, left);
    if (bytes <= room) return {};
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The file has {} bytes or more, but {} may be fetched.", bytes, room));
  }

  const FetchLimits limits_;
  const std::atomic<bool>& cancel_;
  const Clock::time_point until_;
  uint64_t together_ = 0;
  std::map<std::string, File> files_;  // by their addresses
};

}  // namespace

bool wants_fetching(std::span<const service::Request> requests) {
  return std::ranges::any_of(requests, [](const service::Request& request) {
    return std::ranges::any_of(request.media, is_remote);
  });
}

Result<void> fetch_media(std::span<service::Request> requests, const FetchLimits& limits,
                         const std::atomic<bool>& cancel) {
  Fetch fetch(limits, cancel);
  for (service::Request& request : requests) {
    for (service::PlacedMedia& one : request.media) {
      if (!is_remote(one)) continue;
      PUNA_TRY(one.file, fetch.get(*one.file));
    }
  }
  return {};
}

}  // namespace puna::server
