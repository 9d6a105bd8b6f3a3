// What has measured a model is kept for its load.
#include "manager/registry_world.h"

using namespace puna;
using namespace puna::manager;
using namespace puna::manager::test;

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
