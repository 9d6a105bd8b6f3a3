// Random events against a plain model of what is allowed, then each rule by itself.
#include "manager/registry.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

using namespace puna;
using namespace puna::manager;
using base::Error;
using base::ErrorCode;
using namespace std::chrono_literals;

namespace {

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

Limits limits(uint64_t room, size_t n_models = 0) {
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

}  // namespace

TEST_CASE("every state is left again, and every row is of a state that can be") {
  for (const Row& row : table()) {
    CHECK(row_of(row.state, row.event)->next == row.next);
    CHECK(std::ranges::count_if(table(), [&](const Row& other) {
            return other.state == row.state && other.event == row.event;
          }) == 1);
    CHECK(std::ranges::any_of(table(), [&](const Row& other) { return other.state == row.next; }));
    // Memory is taken by loading alone, and given back by what frees it, by a load that ends, or by
    // a process that does.
    if (!holds_memory(row.state)) CHECK(holds_memory(row.next) == (row.action == Action::kLoad));
    if (holds_memory(row.state) && !holds_memory(row.next))
      CHECK((row.event == Event::kFreed || row.event == Event::kDied ||
             row.state == State::kLoading));
  }
  CHECK_FALSE(row_of(State::kLoading, Event::kGo).has_value());
}

TEST_CASE("whatever happens, nothing in use is freed, memory suffices, and all are answered") {
  const std::vector<std::string> ids = {"a", "b", "c", "d", "e"};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Limits the_limits = limits(10, seed % 3);
    if (seed % 4 == 1) the_limits.sleep_after = 2s;
    if (seed % 4 == 2) the_limits.keep_alive = 3s;
    the_limits.n_queued = 20;
    Registry registry(the_limits);
    // The last is larger than all there is.
    World world(registry, {{"a", 3}, {"b", 4}, {"c", 5}, {"d", 9}, {"e", 12}}, 10, seed % 3);
    for (int step = 0; step < 400; ++step) {
      const std::string& id = ids[below(ids.size())];
      switch (below(12)) {
        case 0:
        case 1:
        case 2: {
          Want want{.use = below(8) > 0, .keep_alive = {}};
          if (below(3) == 0) want.keep_alive = Milliseconds(below(3) * 1000);
          world.want(id, want);
          break;
        }
        case 3:
          if (!world.waiting_.empty()) world.leave(below(20));
          break;
        case 4:
        case 5:
          if (!world.leases_.empty()) world.release(below(20));
          break;
        case 6:
          if (below(4) == 0) world.load(id);
          break;
        case 7:
          if (below(4) == 0) world.unload(id);
          break;
        case 10:
          if (below(4) == 0) world.die(id, Error{ErrorCode::kNetwork, "It has died.", {}});
          break;
        case 8:
          world.pass(Milliseconds(below(2) == 0 ? 10 : 1500));
          break;
        case 9:
          world.end_free();
          break;
        default:
          if (below(6) == 0) {
            world.end_load(Error{
                below(2) == 0 ? ErrorCode::kCorrupt : ErrorCode::kOutOfMemory, "It broke.", {}});
          } else {
            world.end_load();
          }
      }
    }
    // Once all that is in use ends, nobody waits any more.
    for (int round = 0; round < 400 && !(world.waiting_.empty() && world.leases_.empty());
         ++round) {
      world.settle();
      while (!world.leases_.empty()) world.release(0);
      world.pass(100ms);
    }
    CHECK(world.waiting_.empty());
    world.settle();
    world.pass(1h);
    world.settle();
    CHECK(registry.held().empty() == true);
  }
}

TEST_CASE("who waits for one model is served together, and before others get its room") {
  Two two;
  World& world = two.world;
  for (const char* id : {"a", "b", "a", "b", "a"}) world.want(id);
  world.settle();
  CHECK(world.n_leases("a") == 3);
  CHECK(world.waiting_.size() == 2);
  world.want("a");  // it is loaded, and young
  CHECK(world.n_leases("a") == 4);
  while (!world.leases_.empty()) world.release(0);
  world.settle();
  CHECK(world.n_leases("b") == 2);
  CHECK(world.loads == std::vector<std::string>{"a", "b"});
  CHECK(two.registry.look("a", world.now)->n_evictions == 1);
}

TEST_CASE("a model that was loaded long ago yields to those who wait for another") {
  Two two;
  World& world = two.world;
  two.run("a");
  world.want("b");
  world.end_load();
  world.want("a");
  CHECK(world.n_leases("a") == 2);
  CHECK(two.registry.next_time(world.now) == Time(11'000));  // b was measured for its load
  world.pass(10s);
  CHECK(two.registry.next_time(world.now) == Time(31'000));
  world.pass(20s);
  world.want("a");  // behind b now
  CHECK(world.n_leases("a") == 2);
  world.release(0);
  world.release(0);
  world.settle();
  CHECK(world.n_leases("b") == 1);
  CHECK(world.waiting_.size() == 1);
  world.release(0);
  world.settle();
  CHECK(world.loads == std::vector<std::string>{"a", "b", "a"});
  CHECK(world.n_leases("a") == 1);
  // Where nobody waits any more, nobody yields.
  world.pass(30s);
  world.want("b");
  world.want("a");
  CHECK(world.waiting_.size() == 2);
  world.leave(0);
  CHECK(world.n_leases("a") == 2);
}

TEST_CASE("the one that was used longest ago goes, and no more of them than have to") {
  Registry registry(limits(10));
  World world(registry, {{"a", 3}, {"b", 3}, {"c", 3}, {"d", 4}, {"e", 6}}, 10, 0);
  for (const char* id : {"a", "b", "c"}) {
    world.want(id);
    world.settle();
    world.pass(1s);
  }
  world.release(0);
  world.pass(1s);
  world.release(0);
  world.pass(1s);
  world.release(0);
  world.want("a", {.use = false, .keep_alive = {}});  // which counts as no use
  world.release(0, /*use=*/false);
  world.want("d");
  world.settle();
  CHECK_FALSE(world.loaded("a"));
  CHECK(world.loaded("b"));
  world.release(0);
  // Of b, c and d, which hold all there is, b and c are older, and both are needed.
  world.want("e");
  world.settle();
  CHECK(world.loaded("e"));
  CHECK(world.loaded("d"));
  CHECK_FALSE(world.loaded("b"));
}

TEST_CASE("the longest wish since a model was loaded holds until it has run out") {
  Two two;
  World& world = two.world;
  two.run("a", {.use = true, .keep_alive = 10s});
  world.release(0);
  two.run("a", {.use = true, .keep_alive = 60s});
  world.release(0);
  two.run("a", {.use = true, .keep_alive = 1s});
  CHECK(two.registry.look("a", world.now)->left == 60s);
  world.pass(100s);
  CHECK(world.loaded("a"));  // in use
  world.release(0);
  CHECK(two.registry.next_time(world.now) == world.now + 60s);
  world.pass(59s);
  world.settle();
  CHECK(world.loaded("a"));
  CHECK(two.registry.look("a", world.now)->left == 1s);
  world.pass(1s);
  world.settle();
  CHECK_FALSE(world.loaded("a"));
  // It is over then.
  two.run("a", {.use = true, .keep_alive = 2s});
  world.release(0);
  world.pass(2s);
  world.settle();
  CHECK_FALSE(world.loaded("a"));
  // For ever, but for others.
  two.run("a", {.use = true, .keep_alive = kForever});
  world.release(0);
  world.pass(1000h);
  CHECK(world.loaded("a"));
  CHECK(two.registry.look("a", world.now)->left == kForever);
  two.run("b");
  CHECK_FALSE(world.loaded("a"));
}

TEST_CASE("what is stopped goes when it is idle, and comes back") {
  Two two;
  World& world = two.world;
  two.run("a", {.use = true, .keep_alive = 0s});
  two.run("a");
  world.release(0);
  CHECK(world.loaded("a"));
  world.release(0);
  CHECK_FALSE(world.loaded("a"));
  world.want("a");  // while it goes
  world.settle();
  CHECK(world.n_leases("a") == 1);
  CHECK(two.registry.unload("a", world.now));
  world.obey();
  CHECK(world.loaded("a"));
  // Somebody says that it is to stay.
  world.want("a", {.use = true, .keep_alive = 10s});
  world.release(0);
  world.release(0);
  CHECK(world.loaded("a"));
  world.unload("a");
  CHECK_FALSE(world.loaded("a"));
  world.settle();
  CHECK_FALSE(two.registry.unload("a", world.now));
}

TEST_CASE("a load goes on as long as somebody waits for it") {
  Two two;
  World& world = two.world;
  world.want("a");
  world.end_load();
  world.want("a");
  world.leave(0);
  world.unload("a");  // goes behind who waits
  world.want("b");
  world.end_load();
  CHECK(world.n_leases("a") == 1);
  world.release(0);
  world.settle();
  CHECK(world.n_leases("b") == 1);
  world.release(0);
  // Nobody waits: others need not either.
  world.want("a");
  world.settle();
  world.release(0);
  world.want("b");
  world.end_free();
  REQUIRE(world.busy_);
  world.leave(0);
  CHECK(world.busy_->first == "b");
  world.want("a");
  world.settle();
  CHECK(world.n_leases("a") == 1);
  CHECK_FALSE(world.loaded("b"));
}

TEST_CASE("what has measured a model is kept for its load, but not for ever") {
  Two two;
  World& world = two.world;
  Registry& registry = two.registry;
  const auto host_bytes = [&] {
    const Footprint held = registry.held();
    return held.contains("host") ? held.at("host") : 0;
  };
  two.run("a");
  CHECK(host_bytes() == 0);
  world.want("b");
  world.end_load();  // it is measured
  CHECK(world.kept_ == std::set<std::string>{"b"});
  CHECK(host_bytes() == World::kKeptBytes);
  CHECK(registry.next_time(world.now) == world.now + 10s);
  // Another one may not have it before.
  world.want("c");
  CHECK(world.kept_ == std::set<std::string>{"b"});
  world.release(0);
  world.end_free();
  CHECK(world.kept_.empty());
  CHECK(world.busy_ == std::pair(std::string("b"), false));
  world.settle();
  REQUIRE(world.n_leases("b") == 1);
  while (!world.leases_.empty()) world.release(0);

  // Who waits for it leaves.
  two.run("b");
  world.want("a");
  world.settle();
  world.release(0);
  world.settle();
  REQUIRE(world.loaded("a"));
  registry.renew("b", world.now);
  world.want("b");
  world.end_load();
  CHECK(world.kept_.size() == 1);
  world.leave(0);
  CHECK(world.kept_.empty());
  CHECK(host_bytes() == 0);

  // It waits for so long that its load begins anew, but is not measured again.
  world.want("b");
  CHECK_FALSE(world.busy_);
  CHECK(world.kept_.empty());
  registry.renew("b", world.now);
  world.obey();
  world.end_load();
  CHECK(world.kept_.size() == 1);
  world.pass(10s - 1ms);
  CHECK(world.kept_.size() == 1);
  world.pass(1ms);
  CHECK(world.kept_.empty());
  CHECK(registry.look("b", world.now)->n_waiting == 1);
  while (!world.leases_.empty()) world.release(0);
  world.end_free();
  CHECK(world.busy_ == std::pair(std::string("b"), false));
  world.settle();
  CHECK(world.n_leases("b") == 1);
}

TEST_CASE("what is kept for a load is of what its model needs, and counts with what others take") {
  Limits the_limits;
  the_limits.bytes = {{"host", 10}};
  Registry registry(the_limits);
  const Time now{1'000};
  const auto has = [&]<class T>(const T*) {
    bool found = false;
    for (const Order& order : registry.take_orders()) found |= std::holds_alternative<T>(order);
    return found;
  };
  for (const char* id : {"a", "b"}) registry.add(id);
  registry.want("b", {}, now);
  registry.measured("b", {{"host", 6}}, Footprint{}, now);
  registry.ready("b", {{"host", 6}}, now);
  registry.release("b", /*use=*/true, now);
  registry.take_orders();
  // All there is, of which its process has a part already.
  registry.want("a", {}, now);
  registry.measured("a", {{"host", 10}}, Footprint{{"host", 3}}, now);
  CHECK(registry.held() == Footprint{{"host", 9}});
  CHECK(has(static_cast<const Free*>(nullptr)));
  registry.freed("b", now);
  CHECK(has(static_cast<const Load*>(nullptr)));
  CHECK(registry.held() == Footprint{{"host", 10}});
}

TEST_CASE("what has measured a model whose file is another now is of no use") {
  Two two;
  World& world = two.world;
  Registry& registry = two.registry;
  two.run("a");
  world.want("b");
  world.end_load();
  CHECK(world.kept_.size() == 1);
  registry.renew("b", world.now);
  world.obey();
  CHECK(world.kept_.empty());
  CHECK(world.busy_ == std::pair(std::string("b"), true));
  // The same while it is measured, however that ends.
  for (const bool breaks : {false, true}) {
    registry.renew("b", world.now);
    if (breaks) {
      world.end_load(Error{ErrorCode::kCorrupt, "It is no model.", {}});
    } else {
      world.end_load();
    }
    CHECK(world.errors.empty());
    CHECK(world.kept_.empty());
    CHECK(world.busy_ == std::pair(std::string("b"), true));
  }
  world.end_load();
  CHECK(world.kept_.size() == 1);
  registry.remove("b", world.now);
  CHECK_FALSE(registry.knows("b"));
  bool dropped = false;
  for (const Order& order : registry.take_orders()) dropped |= std::holds_alternative<Drop>(order);
  CHECK(dropped);
}

TEST_CASE("what somebody asked for is loaded, and a load can be called off") {
  Two two;
  World& world = two.world;
  world.load("a");
  world.end_load();
  world.unload("a");
  world.settle();
  CHECK_FALSE(world.loaded("a"));
  CHECK(world.errors.empty());
  world.load("a");
  world.settle();
  CHECK(world.loaded("a"));
}

TEST_CASE("all who wait are told of a load that fails, and it is not tried again at once") {
  Two two;
  World& world = two.world;
  const Error error{ErrorCode::kCorrupt, "It is no model.", {}};
  world.want("a");
  world.want("a");
  world.end_load();
  world.end_load(error);
  CHECK(world.errors.size() == 2);
  CHECK(two.registry.look("a", world.now)->failed);
  world.want("a");
  REQUIRE(world.errors.size() == 3);
  CHECK(world.errors.back().text() == "It is no model. - It is tried again in 1 s");
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    world.pass(Milliseconds(pause * 1000 - 1));
    world.want("a");
    CHECK(world.waiting_.empty());
    world.pass(1ms);
    world.want("a");
    CHECK(world.waiting_.size() == 1);
    world.end_load(error);
  }
  world.load("a");  // somebody thinks that it may do now
  world.settle();
  CHECK(world.loaded("a"));
  CHECK_FALSE(two.registry.look("a", world.now)->failed);
}

TEST_CASE("a model that dies is loaded again after a pause, which grows unless it lives for long") {
  Two two;
  World& world = two.world;
  const Error error{ErrorCode::kNetwork, "It has died.", {}};
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    world.want("a");
    world.settle();
    REQUIRE(world.loaded("a"));
    REQUIRE(world.die("a", error));
    CHECK(two.registry.look("a", world.now)->failed);
    CHECK(two.registry.held().empty());
    world.release(0);  // whoever had it
    const size_t n_errors = world.errors.size();
    world.pass(Milliseconds(pause * 1000 - 1));
    world.want("a");
    CHECK(world.errors.size() == n_errors + 1);
    CHECK(world.waiting_.empty());
    world.pass(1ms);
  }
  world.want("a");
  world.settle();
  world.pass(60s);
  REQUIRE(world.die("a", error));
  world.release(0);
  world.pass(1s);
  world.want("a");
  CHECK(world.waiting_.size() == 1);
  world.settle();
  CHECK(world.loaded("a"));
  two.registry.died("none", error, world.now);  // which is no longer known
}

TEST_CASE("memory that is refused is memory that others have") {
  Registry registry(Limits{});
  World world(registry, {{"a", 6}, {"b", 6}}, 100, 0);
  world.want("a");
  world.settle();
  CHECK(world.step_down);  // there is nothing else that could go
  world.want("b");
  world.end_load();
  CHECK_FALSE(world.step_down);
  world.end_load(Error{ErrorCode::kOutOfMemory, "No room.", {}});
  CHECK(world.errors.empty());
  CHECK_FALSE(world.busy_);
  world.release(0);  // a is idle
  world.settle();
  CHECK(world.step_down);
  CHECK(world.n_leases("b") == 1);
  CHECK_FALSE(world.loaded("a"));
  // Alone, it is an error.
  world.release(0);
  world.want("a");
  while (!world.busy_ || world.busy_->second || world.busy_->first != "a") {
    if (!world.end_free()) REQUIRE(world.end_load());
  }
  world.end_load(Error{ErrorCode::kOutOfMemory, "No room.", {}});
  CHECK(world.errors.size() == 1);
}

TEST_CASE("idle models sleep, and wake when they are wanted") {
  Limits the_limits = limits(10);
  the_limits.sleep_after = 5s;
  Two two(the_limits);
  World& world = two.world;
  two.run("a");
  world.pass(100s);
  CHECK(world.loaded("a"));
  world.release(0);
  CHECK(two.registry.next_time(world.now) == world.now + 5s);
  world.pass(5s);
  CHECK(two.registry.look("a", world.now)->state == State::kFallingAsleep);
  world.settle();
  CHECK(two.registry.look("a", world.now)->state == State::kSleeping);
  two.run("a");
  world.release(0);
  world.pass(5s);
  world.settle();
  world.pass(295s);
  CHECK(two.registry.look("a", world.now)->state == State::kUnloaded);
}

TEST_CASE("a full queue takes no more, and models that are gone are forgotten") {
  Limits the_limits = limits(10);
  the_limits.n_queued = 2;
  Two two(the_limits);
  World& world = two.world;
  for (int i = 0; i < 3; ++i) world.want("a");
  REQUIRE(world.errors.size() == 1);
  CHECK(world.errors[0].code == ErrorCode::kOutOfMemory);
  world.settle();
  CHECK(world.n_leases("a") == 2);
  world.want("b");
  Registry& registry = two.registry;
  registry.remove("b", world.now);
  registry.remove("a", world.now);
  registry.remove("none", world.now);
  bool refused = false;
  for (const Order& order : registry.take_orders()) {
    if (const auto* each = std::get_if<Refuse>(&order))
      refused = each->error.code == ErrorCode::kNotFound;
  }
  CHECK(refused);
  CHECK(registry.knows("a"));  // in use
  registry.release("a", true, world.now);
  registry.release("a", true, world.now);
  registry.freed("a", world.now);
  CHECK_FALSE(registry.knows("a"));
}
