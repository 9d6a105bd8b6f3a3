// Turns of requests with pictures and sounds: decoded files are large, so that a few requests at
// once have some, each client in its turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/fair_queue.h"

namespace puna::server {

class MediaTurns {
 public:
  // A turn lasts as long as this.
  using Turn = std::shared_ptr<void>;
  using Begin = std::function<void(Turn turn)>;

  // `room`: requests that wait at most.
  explicit MediaTurns(size_t room);

  // `begin` is called once, here or on the thread of whoever's turn ends. False: too many wait.
  bool ask(const std::string& client, Begin begin);

 private:
  struct Line;
  static void let_in(const std::shared_ptr<Line>& line);

  const std::shared_ptr<Line> line_;
};

}  // namespace puna::server
