// A blob that a client sends: its bytes go from the connection, as they come, to a thread that
// hashes and writes them. Bodies of blobs have no limit but the room on the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/store_source.h"
#include "server/core.h"
#include "server/wire.h"

namespace puna::server {

class Upload final : public BodySink {
 public:
  // What it waits for before it takes more from the connection.
  static constexpr size_t kMostWaiting = 4 << 20;

  // Null: too many uploads and pulls are under way. `room`: any thread.
  static std::shared_ptr<Upload> start(Core& core, api::StoreSource& store,
                                       const Incoming& incoming, std::function<void()> room);
  // One that was not finished is given up, and leaves nothing.
  ~Upload() override;

  // BodySink:
  Taken put(std::string piece) override;
  base::Error failure() override;

  // All has come: `done` is called once, on another thread, unless the server ends before that:
  // with the status, 201, or 200 for a blob that was there.
  void finish(std::function<void(base::Result<int> status)> done);

 private:
  struct State;
  explicit Upload(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static base::Result<int> receive(State& state, api::StoreSource& store);

  const std::shared_ptr<State> state_;
};

}  // namespace puna::server
