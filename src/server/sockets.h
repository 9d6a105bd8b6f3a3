// Listening sockets and the two threads on which connections are read and written (Boost.Asio,
// OpenSSL; known to sockets.cpp only).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "server/options.h"
#include "server/wire.h"

namespace puna::server {

class Sockets {
 public:
  Sockets(const Options& options, Handler& handler);  // which outlive it
  ~Sockets();
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  // Errors: kIo naming the address that cannot be listened on; kNotFound and kInvalidArgument for
  // certificates.
  base::Result<void> listen();
  // Calls, on a socket thread, again and again until nothing is accepted any more. Once.
  void every(std::chrono::milliseconds time, std::function<void()> call);
  // With the ports that the system has chosen.
  const std::vector<Address>& addresses() const;
  // Any thread:
  uint32_t n_connections() const;
  void stop_accepting();
  // Work::stop() of whatever is being answered.
  void stop_work();
  // Connection::wind_down() of all.
  void wind_down();
  // Closes all; afterwards nothing is called any more.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace puna::server
