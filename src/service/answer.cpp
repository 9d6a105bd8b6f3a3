#include "service/answer.h"

#include <utility>

#include "base/check.h"

namespace puna::service {

using base::Result;

Answer::Answer(std::shared_ptr<Channel> channel, std::shared_ptr<Inbox> inbox,
               const Prepared& prepared)
    : channel_(std::move(channel)), inbox_(std::move(inbox)), reader_(prepared) {}

Answer::~Answer() {
  if (channel_->abandon()) inbox_->knock();
}

std::optional<Event> Answer::next() {
  while (events_.empty() && !reply_) {
    const Channel::Taken taken = channel_->take();
    if (taken.released) inbox_->knock();
    if (taken.progress) {
      Event event;
      event.prompt = taken.progress;
      events_.push_back(std::move(event));
    } else if (taken.piece) {
      reader_.read(*taken.piece, events_);
    } else if (const auto* result = channel_->result()) {
      if (*result) {
        reply_ = reader_.finish(**result, events_);
      } else {
        reply_ = std::unexpected(result->error());
      }
    } else {
      return {};
    }
  }
  if (events_.empty()) return {};
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

Result<Reply> Answer::reply() {
  PUNA_CHECK(ended());
  return *std::move(reply_);
}

bool Answer::wait(std::optional<std::chrono::milliseconds> timeout) {
  return !events_.empty() || reply_ || channel_->wait(timeout);
}

void Answer::cancel() {
  channel_->control().cancel = true;
  inbox_->knock();
}

}  // namespace puna::service
