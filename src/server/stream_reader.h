// Carries a kept stream to a client, from a byte on: what is there, then what comes, until its end.
// On the thread of the client's connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "server/kept_stream.h"
#include "server/wire.h"

namespace puna::server {

class StreamReader : public std::enable_shared_from_this<StreamReader> {
 public:
  // Called once, with the status of the reply, before its end is sent.
  using OnEnd = std::function<void(int status)>;

  StreamReader(std::shared_ptr<KeptStream> stream, std::shared_ptr<Responder> responder,
               uint64_t from, OnEnd on_end);

  void start();
  // Sends what has come, as far as the client has room for it. A client that is so slow that the
  // stream has gone over what it did not read loses its connection: what follows would not fit.
  void go_on();
  void quiet();
  // The client has left.
  void leave();

 private:
  void end(int status);

  const std::shared_ptr<KeptStream> stream_;
  const std::shared_ptr<Responder> responder_;
  uint64_t at_;
  OnEnd on_end_;
  std::shared_ptr<void> listening_;
  bool begun_ = false, over_ = false;
};

}  // namespace puna::server
