#include "server/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace puna::server {

std::optional<std::string> OverdueSteps::look(const std::string& model,
                                              const engine::StepWatch::Look& steps) {
  constexpr double kTimes = 10, kLeastMs = 1000;
  if (steps.expected_ms <= 0 || steps.ms < std::max(kTimes * steps.expected_ms, kLeastMs))
    return {};
  const auto [told, first] = told_.try_emplace(model, steps.n_steps);
  if (!first && std::exchange(told->second, steps.n_steps) == steps.n_steps) return {};
  return fmt::format("{}: a step has taken {:.1f} s so far, and should have taken {:.3f} s", model,
                     steps.ms / 1e3, steps.expected_ms / 1e3);
}

Watchdog::Watchdog(Models models, Metrics& metrics)
    : models_(std::move(models)),
      metrics_(metrics),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::watch(const std::stop_token& stop) {
  constexpr std::chrono::seconds kBetweenLooks{1};
  for (;;) {
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, kBetweenLooks, [] { return false; });
    if (stop.stop_requested()) return;
    for (const api::ModelLease& model : models_()) {
      if (!model->hosts) continue;  // the process that runs it has a watchdog of its own
      const auto hosts = model->hosts->all();
      for (size_t i = 0; i < hosts.size(); ++i) {
        const std::string name =
            hosts.size() == 1 ? model->id : fmt::format("{}, replica {}", model->id, i + 1);
        const auto said = overdue_.look(name, hosts[i]->status().steps);
        if (!said) continue;
        ++metrics_.of(model->id).n_overdue;
        base::log_warning("{}", *said);
      }
    }
  }
}

}  // namespace puna::server
