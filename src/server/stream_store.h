// The streams that are kept so that clients can read on in them (kept_stream.h), by the key that a
// client has and the conversation that it names ("X-Conversation-Id"). They stay for a while after
// their last byte, within a bound of number and memory. Any thread. Source of the routes:
// llama.cpp's server, which calls them resumable streams.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "server/kept_stream.h"
#include "server/options.h"

namespace puna::server {

class StreamStore {
 public:
  // Longer names of conversations are refused.
  static constexpr size_t kLongestName = 256;

  explicit StreamStore(const StreamOptions& options);

  // Which conversations are whose: the number of a key, 0 where none is asked for.
  using Name = std::pair<size_t, std::string>;

  // For a text that is being prepared: not found yet, but stopped with its conversation.
  std::shared_ptr<KeptStream> open(Name name, std::shared_ptr<Responder> owner);
  // Its text begins. One that the conversation had before is stopped and forgotten.
  void show(const std::shared_ptr<KeptStream>& stream);
  // Its text was refused, or stopped before it began.
  void forget(const std::shared_ptr<KeptStream>& stream);

  // Null: there is none, or no more.
  std::shared_ptr<KeptStream> find(const Name& name);
  // Whether one is to be found soon: its text waits for its model, or is being prepared.
  bool is_coming(const Name& name);
  // Stops whatever the conversation has, and forgets it.
  void stop(const Name& name);

  // Drops what has been kept for long enough, and the oldest of what is too much.
  void sweep();
  // Those that nobody reads have no use once no more requests are answered.
  void stop_unread();
  // With an error.
  void shut_down();
  // At once, after the threads of connections have ended.
  void clear();

 private:
  using Streams = std::set<std::shared_ptr<KeptStream>>;

  void sweep(Streams& dropped);  // under the lock

  const StreamOptions options_;
  const std::function<KeptStream::Clock::time_point()> now_;
  const std::shared_ptr<std::atomic<size_t>> used_bytes_;
  std::mutex mutex_;
  std::map<Name, std::shared_ptr<KeptStream>> shown_;
  std::map<std::shared_ptr<KeptStream>, Name> coming_;
  Streams ending_;  // are found no more, and have not ended
};

}  // namespace puna::server
