// An HTTP server on loopback for tests: serves one file with ranges, and can be told to misbehave.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace puna::io {

class TestServer {
 public:
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

  explicit TestServer(Behaviour behaviour);
  ~TestServer();

  std::string url(const std::string& path = "/model.gguf") const;
  void set(Behaviour behaviour);
  // The heads of the requests received so far, as sent.
  std::vector<std::string> requests() const;

 private:
  void serve();
  void answer(int client);

  mutable std::mutex mutex_;
  Behaviour behaviour_;
  std::vector<std::string> requests_;
  std::atomic<bool> stop_ = false;
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace puna::io
