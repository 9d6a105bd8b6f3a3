#include "io/http/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "io/http/addresses.h"
#include "io/http/urls.h"

namespace puna::io {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr int kMaxRedirects = 10;
constexpr size_t kMaxErrorBytes = 4096;
constexpr size_t kMaxHeaders = 200;
constexpr size_t kMaxHeaderBytes = 16384;

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

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

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// One request while it runs, over all its redirects.
class Transfer {
 public:
  Transfer(HttpRequest request, HttpSink sink, HttpPool::Done done)
      : request_(std::move(request)),
        sink_(std::move(sink)),
        done_(std::move(done)),
        lowest_(request_.lowest_reach) {}

  CURL* handle() { return curl_.get(); }
  // Sets the handle up for the URL of this hop.
  Result<void> prepare();
  // What the end of a hop means: nothing when another follows.
  std::optional<Result<HttpHead>> finish(CURLcode code);
  void tell(Result<HttpHead> end) { done_(std::move(end)); }

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
  static size_t on_upload(char* data, size_t size, size_t n, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Transfer*>(self)->sent_ = static_cast<uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->cancelled() ? 1 : 0;
  }
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto* transfer = static_cast<Transfer*>(self);
    const Reach reach = reach_of(&address->addr);
    if (reach < transfer->lowest_) {
      transfer->refused_address_ = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  bool cancelled() const {
    return request_.cancel && request_.cancel->load(std::memory_order_relaxed);
  }
  void header_line(std::string_view line);
  void complete_head();  // status and what depends on all headers
  Result<void> body(std::span<const std::byte> bytes);
  Result<void> begin();  // tells the sink
  Result<void> follow();
  base::Error failure(CURLcode code) const;
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  HttpRequest request_;
  HttpSink sink_;
  HttpPool::Done done_;
  std::unique_ptr<CURL, CurlDeleter> curl_{curl_easy_init()};
  std::unique_ptr<curl_slist, CurlDeleter> headers_;
  std::string url_;        // of this hop
  bool same_host_ = true;  // as request_.url
  Reach lowest_;           // an address that fewer can reach is not connected to
  bool refused_address_ = false;
  int n_redirects_ = 0;
  uint64_t sent_ = 0;
  HttpHead head_;
  size_t header_bytes_ = 0;
  std::optional<uint64_t> length_;
  bool begun_ = false;
  Result<void> result_;
  char curl_text_[CURL_ERROR_SIZE] = {};
};

size_t Transfer::on_upload(char* data, size_t size, size_t n, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const uint64_t wanted =
      std::min<uint64_t>(size * n, transfer->request_.body_bytes - transfer->sent_);
  const std::span piece(reinterpret_cast<std::byte*>(data), static_cast<size_t>(wanted));
  if (!piece.empty()) transfer->result_ = transfer->request_.body(transfer->sent_, piece);
  if (!transfer->result_) return CURL_READFUNC_ABORT;
  transfer->sent_ += wanted;
  return piece.size();
}

void Transfer::header_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // a new answer: what an earlier one said is void
    head_ = {};
    length_ = std::nullopt;
    header_bytes_ = 0;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || head_.headers.size() >= kMaxHeaders) return;
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaders * kMaxHeaderBytes) return;
  const std::string key = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  head_.headers.emplace_back(key, value.substr(0, kMaxHeaderBytes));
  if (key == "etag" && value.starts_with('"')) head_.etag = value;
  if (key == "content-length") length_ = to_number(value);
  if (key == "content-range") {  // bytes FIRST-LAST/TOTAL
    const size_t space = value.find(' '), dash = value.find('-'), slash = value.find('/');
    if (space < dash && dash < slash && slash != std::string_view::npos) {
      const auto first = to_number(value.substr(space + 1, dash - space - 1));
      const auto last = to_number(value.substr(dash + 1, slash - dash - 1));
      if (first && last && *first <= *last)
        head_.range = HttpRange{.first = *first, .bytes = *last - *first + 1};
      head_.total_bytes = to_number(value.substr(slash + 1)).value_or(0);
    }
  }
}

void Transfer::complete_head() {
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  head_.status = static_cast<int>(status);
  head_.url = url_;
  if (head_.status != 206) {
    head_.range = std::nullopt;
    head_.total_bytes = length_.value_or(0);
  }
  curl_off_t wait_s = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &wait_s);
  if (!head_.header("retry-after").empty()) head_.retry_after_s = std::max<int64_t>(0, wait_s);
}

Result<void> Transfer::begin() {
  begun_ = true;
  complete_head();
  return head_.ok() && sink_.head ? sink_.head(head_) : Result<void>{};
}

Result<void> Transfer::body(std::span<const std::byte> bytes) {
  if (!begun_) PUNA_TRY(begin());
  if (head_.ok()) return sink_.body ? sink_.body(bytes) : Result<void>{};
  const size_t room = kMaxErrorBytes - std::min(kMaxErrorBytes, head_.error_text.size());
  head_.error_text.append(reinterpret_cast<const char*>(bytes.data()),
                          std::min(room, bytes.size()));
  if (room > 0) return {};
  // What redirects and failures bring along is not read to its end, however long it is.
  return fail(ErrorCode::kNetwork, status_error(head_).message);
}

base::Error Transfer::failure(CURLcode code) const {
  if (cancelled()) {
    return {
        ErrorCode::kCancelled, fmt::format("The request to {} was cancelled.", request_.url), {}};
  }
  if (refused_address_) {
    if (n_redirects_ == 0) {
      return {ErrorCode::kInvalidArgument,
              fmt::format("{} is an address inside this machine or its network; it is not asked.",
                          request_.url),
              {}};
    }
    return {ErrorCode::kCorrupt,
            fmt::format("{} redirects to {}, which is an address inside this machine or its "
                        "network; it is not followed.",
                        request_.url, url_),
            {}};
  }
  const std::string why = curl_text_[0] ? curl_text_ : curl_easy_strerror(code);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("{} is no http or https URL ({}).", request_.url, why),
            {}};
  }
  // OpenSSL's words for an answer that is no TLS.
  if (code == CURLE_SSL_CONNECT_ERROR && why.contains("wrong version number")) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("{} is answered by plain http in place of https, which is asked only with "
                        "--insecure.",
                        url_),
            {}};
  }
  return {ErrorCode::kNetwork, fmt::format("The request to {} failed: {}.", url_, why), {}};
}

Result<void> Transfer::prepare() {
  if (!curl_) return fail(ErrorCode::kOutOfMemory, "The HTTP client cannot be set up.");
  if (url_.empty()) url_ = request_.url;
  PUNA_TRY(check_url(url_, request_.plain_http));
  curl_easy_reset(curl_.get());
  head_ = {};
  begun_ = false;
  sent_ = 0;
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_USERAGENT, "puna");
  set(CURLOPT_ERRORBUFFER, curl_text_);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, request_.plain_http ? "http,https" : "https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // a connection a part
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout_s));
  set(CURLOPT_BUFFERSIZE, 512L * 1024);
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, this);
  if (!request_.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, request_.unix_socket.c_str());
  if (request_.direct) set(CURLOPT_PROXY, "");
  set(CURLOPT_OPENSOCKETFUNCTION, &on_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET") {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body_bytes));
    set(CURLOPT_READFUNCTION, &on_upload);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_SEEKFUNCTION, &on_seek);
    set(CURLOPT_SEEKDATA, this);
  }
  headers_.reset();
  const auto header = [&](const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
  };
  for (const std::string& line : request_.headers) header(line);
  header("Expect:");  // no round trip before a body
  if (same_host_ && !request_.authorization.empty())
    header("Authorization: " + request_.authorization);
  if (request_.range) {
    const auto& [first, bytes] = *request_.range;
    header(fmt::format("Range: bytes={}-{}", first, first + std::max<uint64_t>(bytes, 1) - 1));
    if (!request_.if_range.empty()) header("If-Range: " + request_.if_range);
  }
  set(CURLOPT_HTTPHEADER, headers_.get());
  return {};
}

Result<void> Transfer::follow() {
  const std::string location(head_.header("location"));
  const std::string next = absolute_url(url_, location);
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kCorrupt, fmt::format("{} redirects to \"{}\"; it is not followed: {}.",
                                                 request_.url, location.substr(0, 300), why));
  };
  if (++n_redirects_ > kMaxRedirects)
    return refuse(fmt::format("it is redirect {} of this request", n_redirects_));
  if (next.empty()) return refuse("it is no URL");
  if (!check_url(next, request_.plain_http && url_.starts_with("http:")))
    return refuse("it is neither https nor as safe as where it comes from");
  if (n_redirects_ == 1) {
    // From an address that everybody reaches to one that only we do: a server of strangers would
    // have us ask our own network.
    char* ip = nullptr;
    curl_easy_getinfo(curl_.get(), CURLINFO_PRIMARY_IP, &ip);
    lowest_ = std::max(lowest_, reach_of_text(ip ? ip : ""));
  }
  if (url_host(next) != url_host(request_.url)) {
    same_host_ = false;
    lowest_ = std::max(lowest_, Reach::kMachine);
    if (reach_of_text(host_name(next)) < lowest_) {
      refused_address_ = true;
      url_ = next;
      return std::unexpected(failure(CURLE_OK));
    }
  } else {
    same_host_ = true;
  }
  url_ = next;
  return {};
}

std::optional<Result<HttpHead>> Transfer::finish(CURLcode code) {
  // A failing answer whose body is too long to be read is still an answer.
  const bool answered = begun_ && !head_.ok() && !cancelled();
  if (!result_ && !answered) return std::unexpected(std::move(result_.error()));
  if (code != CURLE_OK && !answered) return std::unexpected(failure(code));
  result_ = {};
  if (!begun_) {  // an empty body never reached the sink
    begun_ = true;
    complete_head();
    if (head_.ok() && sink_.head) {
      if (Result<void> told = sink_.head(head_); !told)
        return std::unexpected(std::move(told.error()));
    }
  }
  const bool may_follow = request_.method == "GET" || request_.method == "HEAD";
  if (!is_redirect(head_.status) || !may_follow || head_.header("location").empty())
    return std::move(head_);
  if (Result<void> next = follow(); !next) return std::unexpected(std::move(next.error()));
  if (Result<void> ready = prepare(); !ready) return std::unexpected(std::move(ready.error()));
  return std::nullopt;
}

}  // namespace

struct HttpPool::State {
  CURLM* multi = curl_multi_init();
  std::vector<std::unique_ptr<Transfer>> transfers;
  // Could not be started; told in the next wait().
  std::vector<std::pair<std::unique_ptr<Transfer>, base::Error>> refused;
};

HttpPool::HttpPool() {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)kReady;
  state_ = std::make_unique<State>();
}

HttpPool::~HttpPool() {
  clear();
  curl_multi_cleanup(state_->multi);
}

void HttpPool::clear() {
  for (const auto& transfer : state_->transfers)
    curl_multi_remove_handle(state_->multi, transfer->handle());
  state_->transfers.clear();
  state_->refused.clear();
}

size_t HttpPool::running() const { return state_->transfers.size() + state_->refused.size(); }

void HttpPool::start(HttpRequest request, HttpSink sink, Done done) {
  auto transfer = std::make_unique<Transfer>(std::move(request), std::move(sink), std::move(done));
  Result<void> ready = transfer->prepare();
  if (ready && curl_multi_add_handle(state_->multi, transfer->handle()) != CURLM_OK)
    ready = fail(ErrorCode::kOutOfMemory, "The HTTP client cannot be set up.");
  if (ready) {
    state_->transfers.push_back(std::move(transfer));
  } else {
    state_->refused.emplace_back(std::move(transfer), std::move(ready.error()));
  }
}

void HttpPool::wait(int timeout_ms) {
  if (!state_->refused.empty()) {
    auto refused = std::move(state_->refused);
    state_->refused.clear();
    for (auto& [transfer, error] : refused) transfer->tell(std::unexpected(std::move(error)));
    return;
  }
  int running = 0;
  curl_multi_perform(state_->multi, &running);
  int n_left = 0;
  CURLMsg* message = curl_multi_info_read(state_->multi, &n_left);
  if (!message) {
    curl_multi_poll(state_->multi, nullptr, 0, timeout_ms, nullptr);
    curl_multi_perform(state_->multi, &running);
    message = curl_multi_info_read(state_->multi, &n_left);
  }
  // A `done` may start requests or clear all, so that only one end is looked at before it is told.
  for (; message; message = curl_multi_info_read(state_->multi, &n_left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* handle = message->easy_handle;
    const auto found = std::ranges::find_if(
        state_->transfers,
        [&](const std::unique_ptr<Transfer>& each) { return each->handle() == handle; });
    curl_multi_remove_handle(state_->multi, handle);  // and the message is gone
    if (found == state_->transfers.end()) continue;
    auto end = (*found)->finish(code);
    if (!end) {
      curl_multi_add_handle(state_->multi, (*found)->handle());
      continue;
    }
    const std::unique_ptr<Transfer> ended = std::move(*found);
    state_->transfers.erase(found);
    ended->tell(*std::move(end));
  }
}

std::string_view HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

Result<HttpHead> http_request(HttpRequest request, HttpSink sink) {
  HttpPool pool;
  std::optional<Result<HttpHead>> end;
  pool.start(std::move(request), std::move(sink),
             [&](Result<HttpHead> result) { end = std::move(result); });
  constexpr int kPollMs = 1000;
  while (!end) pool.wait(kPollMs);
  return *std::move(end);
}

base::Error status_error(const HttpHead& head) {
  std::string said;
  for (const char c : head.error_text.substr(0, 300)) said += c == '\n' || c == '\r' ? ' ' : c;
  const bool none = head.status == 404 || head.status == 410;
  return {none ? ErrorCode::kNotFound : ErrorCode::kNetwork,
          fmt::format("{} {} (status {}){}{}.", none ? "The server has no" : "The server refuses",
                      head.url, head.status, said.empty() ? "" : ": ", said),
          {}};
}

}  // namespace puna::io
