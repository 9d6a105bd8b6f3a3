// Answer: the handle of a request that a host was given (host.h). One thread at a time reads it, or
// is told that there is something to read; any thread may cancel it. Whoever drops it cancels the
// text. It may outlive the host, which ends all texts.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "base/result.h"
#include "service/channel.h"
#include "service/inbox.h"
#include "service/reply_reader.h"
#include "service/request.h"

namespace puna::service {

class Answer {
 public:
  Answer(std::shared_ptr<Channel> channel, std::shared_ptr<Inbox> inbox, const Prepared& prepared);
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // The next event; none when it has not come yet, or all have.
  std::optional<Event> next();
  // Whether next() has given all events, so that reply() can be asked for.
  bool ended() const { return reply_ && events_.empty(); }
  // The whole answer; once, when it has ended. Errors: those of the text (respond.h); kCancelled of
  // none: a cancelled text ends with what there is of it, and its StopReason says so.
  base::Result<Reply> reply();

  // Blocks until next() gives something, or all is over; false: not in time. Not on the thread of
  // the engine.
  bool wait(std::optional<std::chrono::milliseconds> timeout = {});
  // Any thread. The text ends with the step that is under way, or before its first.
  void cancel();

 private:
  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<Inbox> inbox_;
  ReplyReader reader_;
  std::deque<Event> events_;
  std::optional<base::Result<Reply>> reply_;
};

}  // namespace puna::service
