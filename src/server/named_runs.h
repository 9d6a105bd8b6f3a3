// What a server is writing for another one, by the names that this has given to its requests
// (kRunHeader): it may end one with what there is of it, on another connection. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "server/run.h"
#include "server/wire.h"

namespace puna::server {

class NamedRuns {
 public:
  // `responder`: on whose thread the run is.
  void add(const std::string& name, const std::shared_ptr<Run>& run,
           const std::shared_ptr<Responder>& responder) {
    const std::lock_guard lock(mutex_);
    runs_[name] = {run, responder};
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    runs_.erase(name);
  }
  // False: none of this name is being written.
  bool cancel(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(name);
    const auto responder = found == runs_.end() ? nullptr : found->second.second.lock();
    if (!responder) return false;
    responder->post([run = found->second.first] {
      if (const auto here = run.lock()) here->cancel();
    });
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::weak_ptr<Run>, std::weak_ptr<Responder>>> runs_;
};

}  // namespace puna::server
