#include "server/stream_reader.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace puna::server {

namespace {

constexpr size_t kPiece = 64 << 10;

}  // namespace

StreamReader::StreamReader(std::shared_ptr<KeptStream> stream, std::shared_ptr<Responder> responder,
                           uint64_t from, OnEnd on_end)
    : stream_(std::move(stream)),
      responder_(std::move(responder)),
      at_(from),
      on_end_(std::move(on_end)) {}

void StreamReader::start() {
  // A sign that there is something to read is on its way.
  const auto told = std::make_shared<std::atomic<bool>>(false);
  listening_ =
      stream_->listen([weak = weak_from_this(), told, responder = std::weak_ptr(responder_)] {
        if (told->exchange(true)) return;
        const auto to = responder.lock();
        if (!to) return;
        to->post([weak, told] {
          *told = false;
          if (const auto self = weak.lock()) self->go_on();
        });
      });
  responder_->ping_every(stream_->ping());
  go_on();
}

void StreamReader::go_on() {
  if (over_) return;
  const auto self = shared_from_this();  // whatever is sent may end it
  if (!begun_) {
    auto head = stream_->head();
    if (head && head->whole) {
      end(head->reply.status);
      return responder_->send(std::move(head->reply));
    }
    if (head) {
      begun_ = true;
      responder_->begin(std::move(head->reply));
    }
  }
  while (!over_) {
    const size_t waiting = responder_->n_waiting();
    if (waiting >= Responder::kMostWaiting) return;
    KeptStream::Bytes next =
        stream_->bytes(at_, std::min(kPiece, Responder::kMostWaiting - waiting));
    if (next.lost || (next.ended && next.cut)) {
      end(begun_ ? 200 : 499);
      return responder_->give_up();
    }
    if (next.bytes.empty()) {
      if (!next.ended) return;
      end(200);
      return responder_->finish();
    }
    at_ += next.bytes.size();
    responder_->write(std::move(next.bytes));
  }
}

void StreamReader::quiet() {
  // A reader that is behind has enough to read.
  if (!over_ && responder_->n_waiting() == 0) stream_->quiet();
}

void StreamReader::leave() {
  if (!over_) end(499);
}

void StreamReader::end(int status) {
  over_ = true;
  listening_.reset();
  std::exchange(on_end_, nullptr)(status);
}

}  // namespace puna::server
