// Channel: the way from the thread of an engine to the reader of one answer (answer.h). It has room
// for some pieces; a text whose reader leaves them there is held until he has taken half of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "engine/scheduler.h"
#include "service/respond.h"

namespace puna::service {

// Called on the thread of the engine when there is something to take where nothing was, and at the
// end: a sign for an event loop. It does not block, and it may come once more, while the answer is
// dropped on another thread.
using OnReady = std::function<void()>;

class Channel {
 public:
  Channel(size_t room, std::shared_ptr<engine::Control> control, OnReady on_ready)
      : room_(room), control_(std::move(control)), on_ready_(std::move(on_ready)) {}

  // The engine's side. Holds the text when there is no more room.
  void push(Piece piece);
  // Of what its reader has not taken yet the first and the last stay.
  void push(const engine::PromptProgress& progress);
  void end(base::Result<engine::GenerateStats> result);

  // The reader's side.
  struct Taken {
    std::optional<engine::PromptProgress> progress;  // comes before all pieces
    std::optional<Piece> piece;
    bool released = false;  // the text was held and goes on
  };
  Taken take();
  // How it ended; none while something is left, or to come.
  const base::Result<engine::GenerateStats>* result();
  // Until there is something to take or the end; false: not in time.
  bool wait(std::optional<std::chrono::milliseconds> timeout);
  // Nobody reads any more: what is left goes. True: the text was under way, and is cancelled.
  bool abandon();

  engine::Control& control() { return *control_; }

 private:
  bool is_ready() const { return !progress_.empty() || !pieces_.empty() || result_; }

  const size_t room_;
  const std::shared_ptr<engine::Control> control_;
  const OnReady on_ready_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<engine::PromptProgress> progress_;
  std::deque<Piece> pieces_;
  std::optional<base::Result<engine::GenerateStats>> result_;
  bool abandoned_ = false;
};

}  // namespace puna::service
