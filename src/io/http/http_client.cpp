#include "io/http/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

namespace puna::io {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One request while it runs: collects the header lines of the last answer, then feeds the sink.
class Transfer {
 public:
  Transfer(const HttpRequest& request, const HttpSink& sink) : request_(request), sink_(sink) {}

  Result<void> run();

 private:
  static size_t on_header(char* data, size_t size, size_t n, void* self) {
    static_cast<Transfer*>(self)->header_line({data, size * n});
    return size * n;
  }
  static size_t on_body(char* data, size_t size, size_t n, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->result_ = transfer->body({reinterpret_cast<const std::byte*>(data), size * n});
    return transfer->result_ ? size * n : CURL_WRITEFUNC_ERROR;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->cancelled() ? 1 : 0;
  }

  bool cancelled() const {
    return request_.cancel && request_.cancel->load(std::memory_order_relaxed);
  }
  void header_line(std::string_view line);
  Result<void> begin();  // judges status and range, then tells the sink
  Result<void> body(std::span<const std::byte> bytes);
  Result<void> failure(CURLcode code) const;

  const HttpRequest& request_;
  const HttpSink& sink_;
  CURL* curl_ = nullptr;
  HttpHead head_;
  std::optional<uint64_t> range_start_, range_total_, length_;
  bool begun_ = false;
  Result<void> result_;
  char curl_text_[CURL_ERROR_SIZE] = {};
};

void Transfer::header_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // a new answer: what a redirect said is void
    head_ = {};
    range_start_ = range_total_ = length_ = std::nullopt;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string key = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (key == "etag" && value.starts_with('"')) head_.etag = value;
  if (key == "content-length") length_ = to_number(value);
  if (key == "content-range") {  // bytes FIRST-LAST/TOTAL
    const size_t space = value.find(' '), dash = value.find('-'), slash = value.find('/');
    if (space < dash && dash < slash && slash != std::string_view::npos) {
      range_start_ = to_number(value.substr(space + 1, dash - space - 1));
      range_total_ = to_number(value.substr(slash + 1));
    }
  }
}

Result<void> Transfer::begin() {
  long status = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  head_.status = static_cast<int>(status);
  if (status == 404 || status == 410) {
    return fail(ErrorCode::kNotFound,
                fmt::format("The server has no {} (status {}).", request_.url, status));
  }
  if (status != 200 && status != 206) {
    return fail(ErrorCode::kNetwork,
                fmt::format("The server answers {} with status {}.", request_.url, status));
  }
  if (status == 206) {
    if (!range_start_ || *range_start_ != request_.offset) {
      return fail(ErrorCode::kNetwork,
                  fmt::format("The server answers {} with a range that does not start at byte {}.",
                              request_.url, request_.offset));
    }
    head_.offset = *range_start_;
    head_.total_bytes = range_total_.value_or(0);
  } else {
    head_.total_bytes = length_.value_or(0);
  }
  begun_ = true;
  return sink_.head ? sink_.head(head_) : Result<void>{};
}

Result<void> Transfer::body(std::span<const std::byte> bytes) {
  if (!begun_) PUNA_TRY(begin());
  return sink_.body ? sink_.body(bytes) : Result<void>{};
}

Result<void> Transfer::failure(CURLcode code) const {
  if (cancelled())
    return fail(ErrorCode::kCancelled,
                fmt::format("The download of {} was cancelled.", request_.url));
  const std::string why = curl_text_[0] ? curl_text_ : curl_easy_strerror(code);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is no http or https URL ({}).", request_.url, why));
  }
  return fail(ErrorCode::kNetwork,
              fmt::format("The download of {} failed: {}.", request_.url, why));
}

Result<void> Transfer::run() {
  const std::unique_ptr<CURL, CurlDeleter> handle(curl_easy_init());
  if (!handle) return fail(ErrorCode::kOutOfMemory, "The HTTP client cannot be set up.");
  curl_ = handle.get();
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl_, option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_USERAGENT, "puna");
  set(CURLOPT_ERRORBUFFER, curl_text_);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, request_.url.starts_with("http:") ? "http,https" : "https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 10L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout_s));
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, this);
  std::unique_ptr<curl_slist, CurlDeleter> headers;
  const std::string range = fmt::format("{}-", request_.offset);
  if (request_.offset > 0) {
    set(CURLOPT_RANGE, range.c_str());
    if (!request_.if_range.empty()) {
      headers.reset(
          curl_slist_append(nullptr, fmt::format("If-Range: {}", request_.if_range).c_str()));
      set(CURLOPT_HTTPHEADER, headers.get());
    }
  }
  const CURLcode code = curl_easy_perform(curl_);
  if (!result_) return std::move(result_);
  if (code != CURLE_OK) return failure(code);
  return begun_ ? Result<void>{} : begin();  // an empty body never reached the sink
}

}  // namespace

Result<void> http_get(const HttpRequest& request, const HttpSink& sink) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kReady != CURLE_OK) return fail(ErrorCode::kInternal, "The HTTP client cannot be set up.");
  return Transfer(request, sink).run();
}

}  // namespace puna::io
