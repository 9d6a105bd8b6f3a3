// HTTP/1.1 on one connection: requests are parsed (by Boost.Beast) and answered one after the
// other, in the order in which they came.
#pragma once

#include <functional>
#include <memory>

#include "server/options.h"
#include "server/stream.h"
#include "server/wire.h"

namespace puna::server {

// For the thread of the connection.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual void start() = 0;
  // Work::stop() for what is being answered.
  virtual void stop_work() = 0;
  // Closes it when the request is answered that is under way, or now where there is none.
  virtual void wind_down() = 0;
  // At once.
  virtual void close() = 0;
};

// `closed` is called once, when it has been closed from either side. Handler and limits outlive it.
//
// A client whose side of the connection has ended counts as gone: whether it could still read is
// not to be seen, and most that do so have left. Replies that are made at once are sent
// nevertheless, those that cost time on the device are given up.
std::shared_ptr<Connection> make_connection(std::unique_ptr<Stream> stream, Peer peer,
                                            Handler& handler, const Limits& limits,
                                            std::function<void()> closed);

}  // namespace puna::server
