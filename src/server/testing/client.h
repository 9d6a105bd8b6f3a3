// A client by hand, for tests: says exactly what it is told to, also what no client should.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace puna::server::test {

// Fails instead of waiting for ever.
constexpr int kPatienceSeconds = 60;

inline void wait_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
  while (!is_so()) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

struct Reply {
  int status = 0;  // 0: none came
  std::map<std::string, std::string> headers;
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    connect(reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), came_(std::move(other.came_)) {}
  Client& operator=(Client&&) = delete;
  ~Client() { close(); }

  int fd() const { return fd_; }
  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // With RST in place of FIN.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close();
  }

  // Waits for more; false at the end.
  bool more() {
    char buffer[4096];
    const ssize_t n = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (n > 0) came_.append(buffer, static_cast<size_t>(n));
    return n > 0;
  }
  bool ended() { return came_.empty() && !more(); }
  // Up to the text, which is taken too; empty: it did not come.
  std::string until(std::string_view text) {
    for (;;) {
      if (const size_t at = came_.find(text); at != std::string::npos)
        return take(at + text.size());
      if (!more()) return {};
    }
  }
  std::string everything() {
    while (more()) {
    }
    return std::exchange(came_, {});
  }

  Reply read_head() {
    Reply out;
    const std::string head = until("\r\n\r\n");
    if (head.empty()) return out;
    out.status = std::atoi(head.c_str() + 9);
    for (size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const size_t end = head.find("\r\n", at), colon = head.find(": ", at);
      out.headers[head.substr(at, colon - at)] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return out;
  }
  std::string read_chunk() {
    const size_t n = std::stoul("0" + until("\r\n"), nullptr, 16);
    while (came_.size() < n + 2 && more()) {
    }
    return take(n + 2).substr(0, n);
  }
  Reply read(bool to_head = false) {
    Reply out = read_head();
    if (out.header("Transfer-Encoding") == "chunked") {
      for (std::string chunk = read_chunk(); !chunk.empty(); chunk = read_chunk())
        out.body += chunk;
    } else if (!to_head) {
      const size_t n = std::stoul("0" + out.header("Content-Length"));
      while (came_.size() < n && more()) {
      }
      out.body = take(n);
    }
    return out;
  }
  Reply ask(std::string_view text) { return say(text) ? read() : Reply{}; }

 private:
  void connect(const sockaddr* address, socklen_t size) {
    const timeval patience{kPatienceSeconds, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    REQUIRE(::connect(fd_, address, size) == 0);
  }
  std::string take(size_t n) {
    std::string out = came_.substr(0, n);
    came_.erase(0, n);
    return out;
  }

  int fd_;
  std::string came_;
};

inline std::string get(std::string_view path, std::string_view headers = "") {
  return std::string("GET ")
             .append(path)
             .append(" HTTP/1.1\r\nHost: localhost\r\n")
             .append(headers) +
         "\r\n";
}
inline std::string post(std::string_view path, std::string_view body,
                        std::string_view headers = "") {
  return std::string("POST ")
      .append(path)
      .append(" HTTP/1.1\r\nHost: localhost\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n")
      .append(headers)
      .append("\r\n")
      .append(body);
}

}  // namespace puna::server::test
