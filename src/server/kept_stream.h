// What a text sends, kept so that a client that was cut off can read on where it was. The text
// writes here as it would to a connection; readers (stream_reader.h) come and go. Read next:
// stream_store.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/wire.h"

namespace puna::server {

class Run;

class KeptStream final : public Responder, public std::enable_shared_from_this<KeptStream> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Setup {
    size_t ring_bytes = 0;
    std::function<Clock::time_point()> now;
    std::shared_ptr<std::atomic<size_t>> used_bytes;  // of all streams
    size_t most_bytes = 0;                            // of all streams
    std::function<void()> too_many;                   // called where these are exceeded
  };
  // The text is carried on the thread of `owner`, whose client may leave.
  KeptStream(Setup setup, std::shared_ptr<Responder> owner);
  ~KeptStream() override;

  // Responder, for the text. It never waits for a reader.
  void post(std::function<void()> call) override;
  void connect(const std::string& path,
               std::function<void(base::Result<std::unique_ptr<Stream>>)> done) override;
  void set_work(std::shared_ptr<Work>) override {}
  void ping_every(std::chrono::milliseconds time) override;
  void send(api::HttpReply reply) override;
  void begin(api::HttpReply head) override;
  void write(std::string piece) override;
  void finish() override;
  void give_up() override;
  size_t n_waiting() const override { return 0; }

  // The rest: any thread.
  // Keeps what carries the text until that has ended.
  void set_run(std::shared_ptr<Run> run);
  // Ends the text with what there is of it, also one that is still being prepared.
  void stop();
  // Ends it with an error: the server has no more time.
  void shut_down();
  // Drops the text at once, as after the threads of connections have ended.
  void abandon();
  bool stopped() const;
  // Nothing was written for a while, as a reader sees it.
  void quiet();
  std::chrono::milliseconds ping() const;

  struct Status {
    bool done = false;
    uint64_t n_bytes = 0;       // that were written in all
    uint64_t first = 0;         // the first of them that is still there
    std::time_t started = 0;    // seconds since 1970
    std::time_t completed = 0;  // 0: not yet
    Clock::time_point last{};   // when the last byte came
    uint32_t n_readers = 0;
  };
  Status status() const;

  // What readers are sent first: a reply without a body, before bytes() go on, or the whole reply
  // of a text that was refused. None: there is nothing yet.
  struct Head {
    api::HttpReply reply;
    bool whole = false;
  };
  std::optional<Head> head() const;
  struct Bytes {
    std::string bytes;   // empty: there are none yet, or no more
    bool ended = false;  // and none come
    bool lost = false;   // the ring has gone over these
    bool cut = false;    // it was given up, without an end
  };
  // At most `most` bytes from `from` on.
  Bytes bytes(uint64_t from, size_t most) const;
  size_t kept_bytes() const;
  // Gives up the oldest bytes, so that at most `most` are kept.
  void shrink(size_t most);

  // `told` is called, on any thread and without waiting, whenever there may be more to read, until
  // the handle is dropped.
  std::shared_ptr<void> listen(std::function<void()> told);

 private:
  struct Listener {
    std::function<void()> told;
  };

  // On the thread of the text, unless that has ended.
  void to_run(std::function<void(Run& run)> call);
  void tell();  // under the lock, as drop_first()
  void drop_first();
  void end(bool cut);

  const Setup setup_;
  mutable std::mutex mutex_;
  std::shared_ptr<Responder> owner_;  // until the text has ended
  // All but the last are full; the first begins with byte status_.first.
  std::deque<std::string> blocks_;
  Status status_;
  std::optional<Head> head_;
  bool cut_ = false, stopped_ = false;
  std::chrono::milliseconds ping_{};
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::shared_ptr<Run> run_;
};

}  // namespace puna::server
