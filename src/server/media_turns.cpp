#include "server/media_turns.h"

#include <mutex>
#include <utility>

namespace puna::server {

// One is encoded while the next is decoded.
constexpr uint32_t kAtOnce = 2;

struct MediaTurns::Line {
  explicit Line(size_t the_room) : room(the_room) {}

  const size_t room;
  std::mutex mutex;
  FairQueue<Begin> waiting;
  uint32_t n_inside = 0;
};

MediaTurns::MediaTurns(size_t room) : line_(std::make_shared<Line>(room)) {}

bool MediaTurns::ask(const std::string& client, Begin begin) {
  {
    const std::lock_guard lock(line_->mutex);
    if (line_->waiting.size() >= line_->room) return false;
    line_->waiting.push(client, std::move(begin));
  }
  let_in(line_);
  return true;
}

void MediaTurns::let_in(const std::shared_ptr<Line>& line) {
  Begin begin;
  {
    const std::lock_guard lock(line->mutex);
    if (line->n_inside == kAtOnce) return;
    auto next = line->waiting.pop();
    if (!next) return;
    ++line->n_inside;
    begin = *std::move(next);
  }
  // Nothing but the end of the last that has it ends a turn.
  begin(Turn(line.get(), [line](Line*) {
    {
      const std::lock_guard lock(line->mutex);
      --line->n_inside;
    }
    let_in(line);
  }));
}

}  // namespace puna::server
