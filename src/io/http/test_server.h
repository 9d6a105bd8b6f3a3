// An HTTP server on loopback for tests: serves one file with ranges, and can be told to misbehave,
// or answers as a function says. A thread for each connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace puna::io {

struct TestRequest {
  std::string method{}, path{};  // the path with its query
  std::string head{};            // as sent
  std::string body{};

  std::string header(const std::string& name) const;  // spelt as curl sends it; "" for none
};

struct TestAnswer {
  int status = 200;
  std::vector<std::string> headers{};  // "Name: value"
  std::string body{};
  std::optional<uint64_t> length{};  // to be told, where it is not the body's
  bool pause = false;                // says nothing more behind the body until the server ends
};

class TestServer {
 public:
  using Handler = std::function<TestAnswer(const TestRequest&)>;

  // How a file is served; by default well.
  struct Behaviour {
    std::string body{};
    std::string etag = "\"v1\"";
    int status = 0;            // not 0: every request gets this status and no body
    bool ranges = true;        // false: Range is passed over and the whole body sent
    bool shift_range = false;  // answers 206 with a range one byte too late
    uint64_t cut_after =
        0;  // not 0: an answer ends after so many body bytes, whatever its length says
    uint64_t pause_after = 0;   // not 0: an answer stops sending there until the server ends
    std::string redirect_to{};  // not empty: "/moved" answers 302 with this location
  };
  static TestAnswer serve_file(const Behaviour& how, const TestRequest& request);

  explicit TestServer(Behaviour behaviour);
  explicit TestServer(Handler handler);
  ~TestServer();

  std::string url(const std::string& path = "/model.gguf") const;
  std::string host() const;  // "127.0.0.1:1234"
  void set(Behaviour behaviour);
  void set(Handler handler);
  // The heads of the requests received so far, as sent.
  std::vector<std::string> requests() const;
  // Bytes of all bodies sent.
  uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void listen();
  void serve();
  void answer(int client);

  mutable std::mutex mutex_;
  Handler handler_;
  std::vector<std::string> requests_;
  std::vector<std::thread> connections_;  // of the listening thread
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> sent_bytes_ = 0;
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace puna::io
