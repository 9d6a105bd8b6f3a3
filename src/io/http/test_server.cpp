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

// The bytes that were taken.
uint64_t send_all(int client, std::string_view bytes) {
  uint64_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<uint64_t>(n);
  }
  return sent;
}

}  // namespace

std::string TestRequest::header(const std::string& name) const {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const size_t start = at + 4 + name.size();
  return head.substr(start, head.find("\r\n", start) - start);
}

TestAnswer TestServer::serve_file(const Behaviour& how, const TestRequest& request) {
  if (how.status != 0) return {.status = how.status};
  if (!how.redirect_to.empty() && request.path == "/moved") {
    return {.status = 302, .headers = {"ETag: \"redirect\"", "Location: " + how.redirect_to}};
  }
  TestAnswer answer{.headers = {"ETag: " + how.etag}};
  uint64_t from = 0, to = how.body.size();
  const std::string range = request.header("Range"), if_range = request.header("If-Range");
  if (how.ranges && range.starts_with("bytes=") && (if_range.empty() || if_range == how.etag)) {
    char* end = nullptr;
    from = std::strtoull(range.c_str() + 6, &end, 10);
    if (from >= how.body.size()) return {.status = 416};
    if (end[0] == '-' && end[1] != '\0')
      to = std::min<uint64_t>(to, std::strtoull(end + 1, nullptr, 10) + 1);
    if (how.shift_range) ++from;
    answer.status = 206;
    answer.headers.push_back(
        fmt::format("Content-Range: bytes {}-{}/{}", from, to - 1, how.body.size()));
  }
  answer.body = how.body.substr(from, to - from);
  answer.length = answer.body.size();
  if (how.cut_after > 0) answer.body.resize(std::min(answer.body.size(), how.cut_after));
  if (how.pause_after > 0 && how.pause_after < answer.body.size()) {
    answer.body.resize(how.pause_after);
    answer.pause = true;
  }
  return answer;
}

TestServer::TestServer(Behaviour behaviour) {
  set(std::move(behaviour));
  listen();
}

TestServer::TestServer(Handler handler) : handler_(std::move(handler)) { listen(); }

void TestServer::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_, 64) != 0 ||
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

std::string TestServer::host() const { return fmt::format("127.0.0.1:{}", port_); }

std::string TestServer::url(const std::string& path) const {
  return fmt::format("http://{}{}", host(), path);
}

void TestServer::set(Behaviour behaviour) {
  set([how = std::move(behaviour)](const TestRequest& request) {
    return serve_file(how, request);
  });
}

void TestServer::set(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

std::vector<std::string> TestServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TestServer::serve() {
  while (!stop_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    connections_.emplace_back([this, client] {
      answer(client);
      ::close(client);
    });
  }
  for (std::thread& connection : connections_) connection.join();
}

void TestServer::answer(int client) {
  TestRequest request;
  char buffer[65536];
  const auto receive = [&](std::string& into) {
    const ssize_t n = ::recv(client, buffer, sizeof buffer, 0);
    if (n > 0) into.append(buffer, static_cast<size_t>(n));
    return n > 0;
  };
  size_t end = 0;
  while ((end = request.head.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(request.head)) return;
  }
  request.body = request.head.substr(end + 4);
  request.head.resize(end + 4);
  const size_t space = request.head.find(' ');
  request.method = request.head.substr(0, space);
  request.path = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
  const uint64_t wanted = std::strtoull(request.header("Content-Length").c_str(), nullptr, 10);
  while (request.body.size() < wanted) {
    if (!receive(request.body)) return;
  }
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request.head);
    handler = handler_;
  }
  const TestAnswer answer = handler(request);
  std::string head = fmt::format("HTTP/1.1 {} Status\r\nConnection: close\r\n", answer.status);
  for (const std::string& line : answer.headers) head += line + "\r\n";
  head += fmt::format("Content-Length: {}\r\n\r\n", answer.length.value_or(answer.body.size()));
  send_all(client, head);
  if (request.method == "HEAD") return;
  sent_bytes_ += send_all(client, answer.body);
  if (!answer.pause) return;
  pollfd gone{client, POLLRDHUP, 0};
  while (!stop_ && ::poll(&gone, 1, kPollMs) == 0) {
  }
}

}  // namespace puna::io
