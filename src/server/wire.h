// Between the bytes of a connection (connection.h) and what is answered (transaction.h): a request
// as it came, and the way back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/errors.h"
#include "api/exchange.h"
#include "base/clock.h"
#include "server/routes.h"
#include "server/stream.h"

namespace puna::server {

// Who is at the other end.
struct Peer {
  uint64_t id = 0;      // of the connection
  std::string address;  // IP address; empty for a Unix socket
  std::string local;    // the address that it came to
  bool loopback = false;
  bool is_unix = false;
};

// Takes the body of a request as it comes, in place of Incoming::http. On the connection's thread.
class BodySink {
 public:
  virtual ~BodySink() = default;
  enum class Taken : uint8_t {
    kMore,
    kWait,    // there is no room until it says so
    kFailed,  // the rest is of no use: failure() says why
  };
  virtual Taken put(std::string piece) = 0;
  virtual base::Error failure() = 0;
};

struct Incoming {
  api::HttpRequest http;  // without its body where a sink has it
  std::string target;     // of the request line, as it came
  bool http_1_0 = false;
  Peer peer;

  // What the check of its head finds out:
  const Route* route = nullptr;
  api::Dialect dialect = api::Dialect::kLlama;  // of errors
  std::string id;                               // X-Request-Id
  std::string client;                           // whose turn it takes: a key, an address, a socket
  size_t key = 0;                               // the number of its key; 0: none is asked for
  // Go with the reply, whichever it is.
  std::vector<std::pair<std::string, std::string>> reply_headers;
  bool close = false;  // the connection ends with the reply
  std::shared_ptr<BodySink> sink;
  base::Timer since_head;
};

// What a connection tells of the request that it is answering, on its thread.
class Work {
 public:
  virtual ~Work() = default;
  virtual void left() = 0;   // the client has gone; nothing is sent any more
  virtual void room() = 0;   // what waited for a slow reader has gone out
  virtual void quiet() = 0;  // nothing was sent for the time between pings
  virtual void stop() = 0;   // the server has no more time for it
};

// The way back to a client. All but post() on the connection's thread; nothing happens once the
// client has left.
class Responder {
 public:
  virtual ~Responder() = default;

  // Any thread: calls on the thread of the connection, or never, after the server has ended.
  virtual void post(std::function<void()> call) = 0;
  // Stream::connect() on that thread, also once the client has left.
  virtual void connect(const std::string& path,
                       std::function<void(base::Result<std::unique_ptr<Stream>>)> done) = 0;
  virtual void set_work(std::shared_ptr<Work> work) = 0;

  // Work::quiet() whenever nothing was written for so long; 0: never.
  virtual void ping_every(std::chrono::milliseconds time) = 0;

  virtual void send(api::HttpReply reply) = 0;  // all of it
  // A stream: the reply's body is its first piece.
  virtual void begin(api::HttpReply head) = 0;
  virtual void write(std::string piece) = 0;
  // A header of a whole reply; of a stream one behind its last piece.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps them.
  virtual void add_trailer(std::string /*name*/, std::string /*value*/) {}
  virtual void finish() = 0;
  // Nothing is sent: for a client that has left.
  virtual void give_up() = 0;
  // Bytes that the client has not read; above kMostWaiting no more should be written until
  // Work::room().
  virtual size_t n_waiting() const = 0;

  static constexpr size_t kMostWaiting = 256 << 10;
};

class Handler {
 public:
  virtual ~Handler() = default;

  // The head has come. A reply here ends the request: its body is of no interest. On a socket
  // thread, like the rest: nothing may take long.
  virtual std::optional<api::HttpReply> check(Incoming& incoming) = 0;
  // What takes the body of a request that was let in, of any length; null: it is kept. `room`: any
  // thread, once a BodySink that said so waits no more. A reply refuses the request.
  virtual std::optional<api::HttpReply> open_sink(
      Incoming& /*incoming*/, std::function<void()> /*room*/) {  // NOLINT: others keep it
    return {};
  }
  // All has come.
  virtual void handle(Incoming incoming, std::shared_ptr<Responder> responder) = 0;
  // The connection itself has answered.
  virtual void refused(const Incoming& incoming, int status) = 0;
};

// {status, the error in a dialect's form}
api::HttpReply error_reply(api::Dialect dialect, int status, std::string_view message);
// Without paths of files. kCancelled is 503: whoever is told so has not left.
api::HttpReply error_reply(api::Dialect dialect, const base::Error& error);
// Status 503, with when to try again.
api::HttpReply busy_reply(api::Dialect dialect, std::string_view message);

}  // namespace puna::server
