#include "server/upload.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace puna::server {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int kCreated = 201, kThere = 200;

std::optional<uint64_t> length_of(const api::HttpRequest& http) {
  const std::string* text = http.header("content-length");
  uint64_t length = 0;
  if (!text) return std::nullopt;
  const char* last = text->data() + text->size();
  return std::from_chars(text->data(), last, length).ptr == last ? std::optional(length)
                                                                 : std::nullopt;
}

}  // namespace

struct Upload::State {
  std::string digest;
  std::optional<uint64_t> bytes;  // that are to come, where the client says it
  std::function<void()> room;     // called where put() has said that there is none
  std::atomic<bool> cancelled = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> pieces;
  size_t n_waiting = 0;
  bool waits = false;                     // the connection, for room
  std::function<void(Result<int>)> done;  // once all has come
  std::optional<base::Error> error;

  // The next piece; none: all has come, or nobody wants it any more.
  std::optional<std::string> next() {
    std::unique_lock lock(mutex);
    // The server's end sets `cancelled` alone.
    constexpr std::chrono::milliseconds kLook{100};
    while (pieces.empty() && !done && !cancelled) changed.wait_for(lock, kLook);
    if (pieces.empty() || cancelled) return std::nullopt;
    std::string out = std::move(pieces.front());
    pieces.pop_front();
    n_waiting -= out.size();
    if (n_waiting < kMostWaiting / 2 && std::exchange(waits, false)) {
      lock.unlock();
      room();
    }
    return out;
  }
};

std::shared_ptr<Upload> Upload::start(Core& core, api::StoreSource& store, const Incoming& incoming,
                                      std::function<void()> room) {
  const auto state = std::make_shared<State>();
  state->digest = incoming.http.path_values.at(0);
  state->bytes = length_of(incoming.http);
  state->room = std::move(room);
  const bool started = core.works.start(
      std::shared_ptr<std::atomic<bool>>(state, &state->cancelled), [state, &store] {
        Result<int> received = receive(*state, store);
        std::function<void(Result<int>)> done;
        bool waits = false;
        {
          const std::lock_guard lock(state->mutex);
          if (!received) state->error = received.error();
          state->pieces.clear();
          done = std::exchange(state->done, nullptr);
          waits = std::exchange(state->waits, false);
        }
        // Whoever waits for room learns of the error with the next piece.
        if (done) return done(std::move(received));
        if (waits) state->room();
      });
  return started ? std::shared_ptr<Upload>(new Upload(state)) : nullptr;
}

Upload::~Upload() {
  state_->cancelled = true;
  state_->changed.notify_all();
}

Result<int> Upload::receive(State& state, api::StoreSource& store) {
  PUNA_TRY(const bool is_there, store.has_blob(state.digest));
  std::unique_ptr<io::ByteSink> out;
  if (!is_there) {
    PUNA_TRY(out, store.receive_blob(state.digest, state.bytes));
  }
  while (const auto piece = state.next()) {
    if (out) PUNA_TRY(out->write(std::as_bytes(std::span(*piece))));
  }
  if (state.cancelled) return base::fail(ErrorCode::kCancelled, "The upload was given up.");
  if (!out) return kThere;
  PUNA_TRY(out->finish());
  return kCreated;
}

BodySink::Taken Upload::put(std::string piece) {
  const std::lock_guard lock(state_->mutex);
  if (state_->error) return Taken::kFailed;
  state_->n_waiting += piece.size();
  state_->pieces.push_back(std::move(piece));
  state_->waits = state_->n_waiting >= kMostWaiting;
  state_->changed.notify_all();
  return state_->waits ? Taken::kWait : Taken::kMore;
}

base::Error Upload::failure() {
  const std::lock_guard lock(state_->mutex);
  return state_->error.value_or(base::Error{ErrorCode::kInternal, "The upload has no error.", {}});
}

void Upload::finish(std::function<void(Result<int> status)> done) {
  std::unique_lock lock(state_->mutex);
  if (state_->error) {
    base::Error error = *state_->error;
    lock.unlock();
    return done(std::unexpected(std::move(error)));
  }
  state_->done = std::move(done);
  state_->changed.notify_all();
}

}  // namespace puna::server
