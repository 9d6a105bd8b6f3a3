#include <algorithm>
#include <utility>

#include "api/errors.h"
#include "base/log.h"
#include "manager/shared.h"

namespace puna::manager {

using api::ModelLease;
using api::ServedModel;
using base::Result;

namespace {

void write_log(const Changed& change) {
  const std::string why = change.why.empty() ? "" : ": " + change.why;
  if (change.failed) {
    base::log_warning("{} could not be loaded{}", change.id, why);
  } else if (change.state == State::kLoading) {
    base::log_info("{} is being loaded.", change.id);
  } else if (change.state != State::kLoaded && !why.empty()) {
    base::log_info("{} is {} now{}.", change.id, name_of(change.state), why);
  }
}

}  // namespace

api::ModelState state_of(State state) {
  switch (state) {
    case State::kLoading:
      return api::ModelState::kLoading;
    case State::kLoaded:
      return api::ModelState::kLoaded;
    case State::kFallingAsleep:
    case State::kSleeping:
      return api::ModelState::kSleeping;
    case State::kUnloaded:
    case State::kUnloading:
    case State::kFailed:
      break;
  }
  return api::ModelState::kUnloaded;
}

void Manager::Shared::go_on(Lock& lock) {
  for (std::vector<Order> orders; !(orders = registry_.take_orders()).empty();)
    std::ranges::for_each(orders, [this](const Order& order) { obey(order); });
  changed_.notify_all();
  if (std::exchange(calling_, true)) return;
  while (!calls_.empty()) {
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;  // what it has goes without the mutex
    lock.lock();
  }
  calling_ = false;
}

void Manager::Shared::obey(const Order& order) {
  if (const auto* measure = std::get_if<Measure>(&order)) {
    cancel_ = stopped_;
    loads_.emplace_back(*measure);
  } else if (const auto* drop = std::get_if<Drop>(&order)) {
    const auto found = known_.find(drop->id);
    if (found != known_.end() && found->second.opened)
      dead_.emplace_back(std::move(found->second.opened));
  } else if (const auto* load = std::get_if<Load>(&order)) {
    cancel_ = stopped_;
    loads_.emplace_back(*load);
  } else if (std::holds_alternative<StopLoad>(order)) {
    cancel_ = true;
  } else if (const auto* free = std::get_if<Free>(&order)) {
    frees_.push_back(free->id);
  } else if (const auto* grant = std::get_if<Grant>(&order)) {
    const auto found = waiting_.find(grant->ticket);
    // Who has been told that the server ends has left without a word to the registry.
    if (found == waiting_.end()) return registry_.release(grant->id, false, now());
    answer(grant->ticket, lease_of(grant->id, known_.at(grant->id).instance, found->second.use));
  } else if (const auto* refuse = std::get_if<Refuse>(&order)) {
    answer(refuse->ticket, std::unexpected(refuse->error));
  } else if (const auto* change = std::get_if<Changed>(&order)) {
    calls_.emplace_back([change = *change] { write_log(change); });
    // What is on its way is told of when it is there.
    if (change->state == State::kUnloading || change->state == State::kFallingAsleep) return;
    tell({.id = change->id,
          .state = state_of(change->state),
          .error = change->failed ? api::without_paths(change->why) : std::string()});
  }
}

void Manager::Shared::answer(uint64_t ticket, Result<ModelLease> result) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  calls_.emplace_back([done = std::move(found->second.done), result = std::move(result)]() mutable {
    done(std::move(result));
  });
  waiting_.erase(found);
}

void Manager::Shared::tell(const api::ModelEvent& event) {
  for (const auto& each : listeners_) {
    if (auto listener = each.lock())
      calls_.emplace_back([listener = std::move(listener), event] { listener->told(event); });
  }
}

void Manager::Shared::leave(uint64_t ticket) {
  Done dropped;  // without the mutex
  Lock lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  dropped = std::move(found->second.done);
  waiting_.erase(found);
  registry_.leave(ticket, now());
  go_on(lock);
  lock.unlock();
}

void Manager::Shared::release(const std::string& id, bool use) {
  Lock lock(mutex_);
  registry_.release(id, use, now());
  go_on(lock);
}

ModelLease Manager::Shared::lease_of(const std::string& id,
                                     const std::shared_ptr<Instance>& instance, bool use) {
  return {&instance->served(),
          [self = shared_from_this(), instance = instance, id, use](const ServedModel*) mutable {
            instance.reset();
            self->release(id, use);
          }};
}

ModelLease Manager::Shared::look_at(const std::shared_ptr<Instance>& instance) {
  return {&instance->served(),
          [self = shared_from_this(), instance = instance](const ServedModel*) mutable {
            instance.reset();
            self->changed_.notify_all();
          }};
}

}  // namespace puna::manager
