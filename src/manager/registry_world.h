// A registry's manager as tests have it: does what it is told as plainly as it can be said, and
// checks that each order is allowed.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "manager/registry.h"

namespace puna::manager::test {

using base::Error;
using base::ErrorCode;
using namespace std::chrono_literals;

// What a manager does with orders, as plainly as it can be said; checks that each is allowed.
class World {
 public:
  World(Registry& registry, std::map<std::string, uint64_t> sizes, uint64_t room, size_t n_models)
      : registry_(registry), sizes_(std::move(sizes)), room_(room), n_models_(n_models) {
    for (const auto& each : sizes_) registry_.add(each.first);
  }

  void want(const std::string& id, Want want = {}) {
    const uint64_t ticket = registry_.want(id, want, now);
    waiting_.emplace(ticket, id);
    obey();
  }
  void leave(size_t nth) {
    auto each = waiting_.begin();
    std::advance(each, static_cast<ptrdiff_t>(nth % waiting_.size()));
    const uint64_t ticket = each->first;
    waiting_.erase(each);
    registry_.leave(ticket, now);
    obey();
  }
  void release(size_t nth, bool use = true) {
    const auto each = leases_.begin() + static_cast<ptrdiff_t>(nth % leases_.size());
    std::string id = std::move(*each);
    leases_.erase(each);
    registry_.release(id, use, now);
    obey();
  }
  void load(const std::string& id) {
    asked_.emplace(id, 0);
    registry_.load(id, now);
    obey();
  }
  void unload(const std::string& id) {
    asked_.erase(id);
    registry_.unload(id, now);
    obey();
  }
  void pass(Milliseconds time) {
    now += time;
    registry_.tick(now);
    obey();
  }
  // What was begun ends; false: nothing was.
  bool end_load(std::optional<Error> error = {}) {
    if (!busy_) return false;
    const auto [id, measures] = *std::exchange(busy_, {});
    if (stopped_.erase(id) > 0 && !error) error = Error{ErrorCode::kCancelled, "Stopped.", {}};
    if (error) {
      if (!measures) state_.erase(id);
      registry_.broken(id, *error, now);
      // Where others have to go first, or it was asked for again meanwhile, it still is.
      if (registry_.look(id, now)->failed) asked_.erase(id);
    } else if (measures) {
      kept_.insert(id);
      registry_.measured(id, {{"gpu", sizes_.at(id)}}, Footprint{{"host", kKeptBytes}}, now);
    } else {
      state_[id] = State::kLoaded;
      asked_.erase(id);
      registry_.ready(id, {{"gpu", sizes_.at(id)}}, now);
    }
    obey();
    return true;
  }
  // One that is loaded ends by itself; false: it is not.
  bool die(const std::string& id, const Error& error) {
    if (registry_.look(id, now)->state != State::kLoaded) return false;
    state_.erase(id);
    asked_.erase(id);
    registry_.died(id, error, now);
    obey();
    return true;
  }
  bool end_free() {
    if (freeing_.empty()) return false;
    const std::string id = *freeing_.begin();
    freeing_.erase(freeing_.begin());
    state_.erase(id);
    registry_.freed(id, now);
    obey();
    return true;
  }
  void settle() {
    while (end_load() || end_free()) {
    }
  }

  void obey() {
    for (const Order& order : registry_.take_orders())
      std::visit([this](const auto& each) { take(each); }, order);
    // It knows who is there as well as we do.
    for (const auto& [id, bytes] : sizes_) {
      const auto look = registry_.look(id, now);
      REQUIRE(look.has_value());
      const auto mine = state_.find(id);
      const State state = look->state;
      CHECK(holds_memory(state) == (mine != state_.end()));
      if (mine != state_.end()) {
        CHECK((mine->second == State::kUnloading ? !freeing_.empty() && state != State::kLoaded
                                                 : mine->second == state));
      }
      CHECK(look->n_leases == static_cast<size_t>(std::ranges::count(leases_, id)));
      const auto kept = look->held.find("host");
      CHECK((kept != look->held.end()) == kept_.contains(id));
      if (kept_.contains(id)) {
        CHECK(kept->second == kKeptBytes);
        CHECK((look->n_waiting > 0 || asked_.contains(id)));
      }
    }
    CHECK(kept_.size() <= 1);
    CHECK(registry_.n_waiting() == waiting_.size());
  }

  bool loaded(const std::string& id) const {
    const auto mine = state_.find(id);
    return mine != state_.end() && mine->second == State::kLoaded;
  }
  size_t n_leases(const std::string& id) const {
    return static_cast<size_t>(std::ranges::count(leases_, id));
  }

  static constexpr uint64_t kKeptBytes = 2;

  Time now{1'000};
  std::multimap<uint64_t, std::string> waiting_;
  std::vector<std::string> leases_;
  std::vector<std::string> loads;  // in their order
  std::vector<Error> errors;
  bool step_down = false;                             // of the last load
  std::optional<std::pair<std::string, bool>> busy_;  // with a load, or a measure
  std::set<std::string> kept_;                        // measured, for their loads

 private:
  void take(const Measure& order) {
    CHECK(!busy_);
    CHECK(!state_.contains(order.id));
    CHECK(kept_.empty());
    busy_.emplace(order.id, true);
  }
  void take(const Drop& order) { CHECK(kept_.erase(order.id) == 1); }
  void take(const Load& order) {
    CHECK(!busy_);
    REQUIRE(!state_.contains(order.id));
    busy_.emplace(order.id, false);
    kept_.erase(order.id);
    CHECK(kept_.empty());
    state_[order.id] = State::kLoading;
    loads.push_back(order.id);
    step_down = order.step_down;
    uint64_t sum = 0;
    for (const auto& each : state_) sum += sizes_.at(each.first);
    CHECK((sum <= room_ || state_.size() == 1));
    CHECK((n_models_ == 0 || state_.size() <= n_models_));
    // The one that is waited for longest; what is loaded waits for its turn to come again.
    if (waiting_.empty() || !asked_.empty()) return;
    for (const auto& [ticket, id] : waiting_) {
      if (loaded(id) || freeing_.contains(id)) continue;
      CHECK(id == order.id);
      return;
    }
  }
  void take(const StopLoad& order) {
    REQUIRE(busy_);
    CHECK(busy_->first == order.id);
    CHECK(stopped_.insert(order.id).second);
    CHECK(std::ranges::none_of(waiting_, [&](const auto& w) { return w.second == order.id; }));
  }
  void take(const Free& order) {
    REQUIRE(loaded(order.id));
    CHECK(n_leases(order.id) == 0);
    state_[order.id] = State::kUnloading;
    CHECK(freeing_.insert(order.id).second);
  }
  void take(const Grant& order) {
    const auto found = waiting_.find(order.ticket);
    REQUIRE((found != waiting_.end() || !order.id.empty()));
    // Before want() has returned it is not in the list.
    if (found == waiting_.end()) FAIL("a ticket that nobody has");
    CHECK(found->second == order.id);
    CHECK(loaded(order.id));
    leases_.push_back(order.id);
    waiting_.erase(found);
  }
  void take(const Refuse& order) {
    const auto found = waiting_.find(order.ticket);
    REQUIRE(found != waiting_.end());
    waiting_.erase(found);
    errors.push_back(order.error);
  }
  void take(const Changed&) {}

  Registry& registry_;
  const std::map<std::string, uint64_t> sizes_;
  const uint64_t room_;
  const size_t n_models_;
  std::map<std::string, State> state_;  // of those that hold memory
  std::set<std::string> freeing_, stopped_;
  std::map<std::string, int> asked_;
};

inline Limits limits(uint64_t room, size_t n_models = 0) {
  Limits out;
  out.bytes = {{"gpu", room}};
  out.n_models = n_models;
  return out;
}

// Two that do not fit beside each other.
struct Two {
  explicit Two(Limits the_limits = limits(10)) : registry(std::move(the_limits)) {}
  void run(const std::string& id, Want want = {}) {
    world.want(id, want);
    world.settle();
    REQUIRE(world.n_leases(id) > 0);
  }
  Registry registry;
  World world{registry, {{"a", 6}, {"b", 6}, {"c", 3}}, 10, 0};
};

}  // namespace puna::manager::test
