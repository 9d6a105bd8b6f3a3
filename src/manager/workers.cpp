#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "manager/asleep.h"
#include "manager/shared.h"

namespace puna::manager {

using base::Result;

base::Error ending() { return {base::ErrorCode::kCancelled, "The server is being shut down.", {}}; }

Time Manager::Shared::now() const {
  if (options_.now) return options_.now();
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

void Manager::Shared::begin() {
  renew();
  Lock lock(mutex_);
  for (const auto& [id, known] : known_) {
    if (known.entry.load_at_start) registry_.load(id, now());
  }
  loading_ = std::thread([this] { run_loads(); });
  freeing_ = std::thread([this] { run_frees(); });
  go_on(lock);
}

void Manager::Shared::stop() {
  std::vector<std::shared_ptr<Instance>> instances;
  {
    Lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    cancel_ = true;
    while (!waiting_.empty()) answer(waiting_.begin()->first, std::unexpected(ending()));
    for (auto& each : known_) {
      if (each.second.instance) instances.push_back(each.second.instance);
    }
    go_on(lock);
  }
  changed_.notify_all();
  downloads_.stop();
  for (const auto& each : instances) each->stop();
  for (std::thread* each : {&loading_, &freeing_}) {
    if (each->joinable()) each->join();
  }
  // Leases may keep the rest for longer.
  Lock lock(mutex_);
  for (auto& each : known_) bury(each.second);
  const std::vector<std::shared_ptr<void>> dead = std::exchange(dead_, {});
  lock.unlock();
}

void Manager::Shared::run_loads() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !loads_.empty(); });
    if (stopped_) return;
    const Work work = std::move(loads_.front());
    loads_.pop_front();
    if (const auto* load = std::get_if<Load>(&work)) {
      load_one(load->id, load->step_down, lock);
    } else {
      measure_one(std::get<Measure>(work).id, lock);
    }
  }
}

void Manager::Shared::measure_one(const std::string& id, Lock& lock) {
  const Entry entry = known_.at(id).entry;
  lock.unlock();
  Result<Loader::Measured> measured = loader_->measure(entry, cancel_);
  lock.lock();
  if (measured) {
    std::optional<Footprint> kept;
    if (measured->opened) kept = measured->opened->held();
    known_.at(id).opened = std::move(measured->opened);
    registry_.measured(id, std::move(measured->need), std::move(kept), now());
  } else {
    registry_.broken(id, std::move(measured.error()), now());
  }
  go_on(lock);
}

void Manager::Shared::load_one(const std::string& id, bool step_down, Lock& lock) {
  Known& known = known_.at(id);
  const Entry entry = known.entry;
  Loader::Order order{.step_down = step_down, .cancel = &cancel_};
  order.memories = std::move(known.memories);
  order.opened = std::move(known.opened);
  lock.unlock();
  const base::Timer timer;
  Result<std::unique_ptr<Instance>> instance = loader_->load(entry, std::move(order));
  if (instance) base::log_info("{} is loaded after {:.1f} s.", id, timer.ms() / 1e3);
  lock.lock();
  if (instance) {
    known.instance = *std::move(instance);
    known.asleep.reset();
    std::shared_ptr<Instance> loaded = known.instance;
    registry_.ready(id, loaded->held(), now());
    go_on(lock);
    lock.unlock();
    loaded->when_died(
        [weak = weak_from_this(), id, which = loaded.get()](const base::Error& error) {
          if (const auto self = weak.lock()) self->died(id, which, error);
        });
    loaded.reset();
    lock.lock();
  } else {
    registry_.broken(id, std::move(instance.error()), now());
    go_on(lock);
  }
}

void Manager::Shared::run_frees() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (!dead_.empty()) {
      std::vector<std::shared_ptr<void>> dead = std::exchange(dead_, {});
      lock.unlock();
      dead.clear();
      lock.lock();
      continue;
    }
    if (!frees_.empty()) {
      const std::string id = std::move(frees_.front());
      frees_.pop_front();
      free_one(id, lock);
      continue;
    }
    // Whatever changes may change when to look at the clock again.
    const auto next = registry_.next_time(now());
    if (next && !options_.now) {
      changed_.wait_for(lock, *next - now());
    } else {
      changed_.wait(lock);
    }
    if (stopped_) return;
    registry_.tick(now());
    go_on(lock);
  }
}

void Manager::Shared::free_one(const std::string& id, Lock& lock) {
  constexpr Milliseconds kBetweenLooks{20};
  Known& known = known_.at(id);
  std::shared_ptr<Instance> instance = std::move(known.instance);
  known.instance = nullptr;
  // Who looks at it does so for a moment.
  while (instance.use_count() > 1 && !stopped_) changed_.wait_for(lock, kBetweenLooks);
  const auto look = registry_.look(id, now());
  const bool sleeps = look && look->state == State::kFallingAsleep;
  if (sleeps) known.asleep = asleep_of(instance->served());
  lock.unlock();
  std::unique_ptr<Memories> memories;
  if (sleeps) memories = instance->remember();
  instance.reset();
  lock.lock();
  known.memories = std::move(memories);
  registry_.freed(id, now());
  go_on(lock);
}

void Manager::Shared::died(const std::string& id, const Instance* which, const base::Error& error) {
  Lock lock(mutex_);
  const auto known = known_.find(id);
  if (stopped_ || known == known_.end() || known->second.instance.get() != which) return;
  // Not here: it waits for the thread that tells of its end.
  dead_.push_back(std::move(known->second.instance));
  known->second.instance = nullptr;
  registry_.died(id, error, now());
  go_on(lock);
}

void Manager::Shared::bury(Known& known) {
  if (known.memories) dead_.emplace_back(std::move(known.memories));
  if (known.opened) dead_.emplace_back(std::move(known.opened));
}

}  // namespace puna::manager
