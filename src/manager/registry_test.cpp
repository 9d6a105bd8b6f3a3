// Random events against a plain model of what is allowed, then each rule by itself.
#include <random>

#include "manager/registry_world.h"

using namespace puna;
using namespace puna::manager;
using namespace puna::manager::test;

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
  REQUIRE(world.errors.size() == 2);
  CHECK(world.errors.front().code == ErrorCode::kSetUp);  // no fault of those who ask
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
