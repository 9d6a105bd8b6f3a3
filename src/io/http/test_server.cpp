#include "io/http/test_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace puna::io {
namespace {

constexpr int kPollMs = 20;

void send_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// The value of a header of `head`, or "".
std::string header(const std::string& head, const std::string& key) {
  const size_t at = head.find("\r\n" + key + ": ");
  if (at == std::string::npos) return {};
  const size_t start = at + 4 + key.size();
  return head.substr(start, head.find("\r\n", start) - start);
}

}  // namespace

TestServer::TestServer(Behaviour behaviour) : behaviour_(std::move(behaviour)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();  // a test machine without loopback
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TestServer::~TestServer() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

std::string TestServer::url(const std::string& path) const {
  return fmt::format("http://127.0.0.1:{}{}", port_, path);
}

void TestServer::set(Behaviour behaviour) {
  const std::lock_guard lock(mutex_);
  behaviour_ = std::move(behaviour);
}

std::vector<std::string> TestServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TestServer::serve() {
  while (!stop_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    answer(client);
    ::close(client);
  }
}

void TestServer::answer(int client) {
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = ::recv(client, buffer, sizeof buffer, 0);
    if (n <= 0) return;
    head.append(buffer, static_cast<size_t>(n));
  }
  Behaviour how;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(head);
    how = behaviour_;
  }
  if (how.status != 0) {
    return send_all(client,
                    fmt::format("HTTP/1.1 {} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                                how.status));
  }
  if (!how.redirect_to.empty() && head.starts_with("GET /moved ")) {
    return send_all(client,
                    fmt::format("HTTP/1.1 302 Found\r\nETag: \"redirect\"\r\nLocation: {}\r\n"
                                "Content-Length: 0\r\nConnection: close\r\n\r\n",
                                how.redirect_to));
  }
  uint64_t from = 0;
  const std::string range = header(head, "Range"), if_range = header(head, "If-Range");
  if (how.ranges && range.starts_with("bytes=") && (if_range.empty() || if_range == how.etag)) {
    from = std::strtoull(range.c_str() + 6, nullptr, 10);
    if (from >= how.body.size()) {
      return send_all(client, "HTTP/1.1 416 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    if (how.shift_range) ++from;
    send_all(client,
             fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", from,
                         how.body.size() - 1, how.body.size()));
  } else {
    send_all(client, "HTTP/1.1 200 OK\r\n");
  }
  send_all(client, fmt::format("ETag: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                               how.etag, how.body.size() - from));
  std::string_view body = std::string_view(how.body).substr(from);
  if (how.cut_after > 0) body = body.substr(0, how.cut_after);
  if (how.pause_after > 0 && how.pause_after < body.size()) {
    send_all(client, body.substr(0, how.pause_after));
    pollfd gone{client, POLLRDHUP, 0};
    while (!stop_ && ::poll(&gone, 1, kPollMs) == 0) {
    }
    return;
  }
  send_all(client, body);
}

}  // namespace puna::io
