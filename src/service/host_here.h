// The host without a thread: the engine runs on the thread that posts and reads, as a guest of its
// event loop. Nothing blocks; wait() and whatever else waits for the engine has no use here.
#pragma once

#include <memory>

#include "engine/executor.h"
#include "service/host.h"

namespace puna::service {

class HostHere final : public Host {
 public:
  // `later` calls what it is given once, from the event loop, never before it returns: what is
  // posted begins there.
  HostHere(LoadedModel model, engine::GiveWay later, HostOptions options = {});
  ~HostHere() override;  // when nothing is under way

  // Whoever drives the engine sees to it that what is under way ends.
  void stop() override { cancel_all(); }

 private:
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace puna::service
