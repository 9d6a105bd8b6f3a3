// Watchdog: tells of steps that take far longer than they should while they still do: a device that
// hangs, a machine that swaps. Looks from a thread of its own, once a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/model_source.h"
#include "engine/step_watch.h"
#include "server/metrics.h"

namespace puna::server {

// Which steps are overdue: those that take ten times what they should, and a second at least.
class OverdueSteps {
 public:
  // What there is to say of a model's step; nothing where all is well, or it was said of this step.
  std::optional<std::string> look(const std::string& model, const engine::StepWatch::Look& steps);

 private:
  std::map<std::string, uint64_t> told_;  // n_steps when it was said, by model
};

class Watchdog {
 public:
  using Models = std::function<std::vector<api::ModelLease>()>;
  // Both outlive it.
  Watchdog(Models models, Metrics& metrics);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);

  const Models models_;
  Metrics& metrics_;
  OverdueSteps overdue_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace puna::server
