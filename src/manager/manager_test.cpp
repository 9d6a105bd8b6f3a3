// The manager with its threads, over a loader whose models have no weights.
#include "manager/manager.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "service/host_thread.h"
#include "service/testing/fake_model.h"

using namespace puna;
using namespace puna::manager;
using namespace std::chrono_literals;
using api::ModelLease;
using api::ModelState;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr auto kPatience = 60s;

class FakeInstance final : public Instance {
 public:
  FakeInstance(const Entry& entry, uint64_t bytes, std::atomic<uint64_t>& held)
      : host_(std::move(service::test::fake_model().model)), bytes_(bytes), held_(held) {
    held_ += bytes;
    served_.id = entry.id;
    served_.aliases = entry.aliases;
    served_.hosts = std::make_shared<service::Hosts>(host_);
    served_.n_texts = 4;
    served_.make_shared_parts();
  }
  ~FakeInstance() override { held_ -= bytes_; }

  const api::ServedModel& served() const override { return served_; }
  Footprint held() const override { return {{"gpu", bytes_}}; }
  std::unique_ptr<Memories> remember() override;
  void stop() override { host_.stop(); }

 private:
  service::HostThread host_;
  api::ServedModel served_;
  const uint64_t bytes_;
  std::atomic<uint64_t>& held_;
};

class FakeMemories final : public Memories {
 public:
  uint64_t bytes() const override { return 7; }
};
std::unique_ptr<Memories> FakeInstance::remember() { return std::make_unique<FakeMemories>(); }

class FakeOpened final : public Opened {
 public:
  explicit FakeOpened(std::string the_id, std::atomic<int>& n_there)
      : id(std::move(the_id)), n_there_(n_there) {
    ++n_there_;
  }
  ~FakeOpened() override { --n_there_; }
  Footprint held() const override { return {{"host", 1}}; }

  const std::string id;

 private:
  std::atomic<int>& n_there_;
};

class FakeLoader final : public Loader {
 public:
  explicit FakeLoader(uint64_t room) : room_(room) {}

  Result<Measured> measure(const Entry& entry, const std::atomic<bool>&) override {
    const std::lock_guard lock(mutex_);
    ++n_measured;
    if (unreadable_ == entry.id) return base::fail(ErrorCode::kCorrupt, "It is no model.");
    return Measured{.need = {{"gpu", size_of(entry)}},
                    .opened = std::make_unique<FakeOpened>(entry.id, n_opened)};
  }
  Result<std::unique_ptr<Instance>> load(const Entry& entry, Order order) override {
    std::unique_lock lock(mutex_);
    ++n_loads;
    if (order.memories) ++n_remembered;
    if (const auto* opened = dynamic_cast<const FakeOpened*>(order.opened.get())) {
      CHECK(opened->id == entry.id);
      ++n_from_opened;
    }
    begun_.notify_all();
    while (closed_ && !*order.cancel) changed_.wait_for(lock, 1ms);
    if (*order.cancel) return base::fail(ErrorCode::kCancelled, "It was cancelled.");
    if (failing_ == entry.id) return base::fail(ErrorCode::kIo, "It cannot be read.");
    if (held + size_of(entry) > room_) return base::fail(ErrorCode::kOutOfMemory, "No room.");
    lock.unlock();
    return std::make_unique<FakeInstance>(entry, size_of(entry), held);
  }

  static uint64_t size_of(const Entry& entry) { return entry.id == "small" ? 2 : 6; }

  void fail(std::string id) {
    const std::lock_guard lock(mutex_);
    failing_ = std::move(id);
  }
  void cannot_read(std::string id) {
    const std::lock_guard lock(mutex_);
    unreadable_ = std::move(id);
  }
  // Loads go on no further.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  void wait_for_load(uint32_t n) {
    std::unique_lock lock(mutex_);
    REQUIRE(begun_.wait_for(lock, kPatience, [&] { return n_loads >= n; }));
  }

  std::atomic<uint32_t> n_loads = 0, n_remembered = 0, n_measured = 0, n_from_opened = 0;
  std::atomic<int> n_opened = 0;  // that are there
  std::atomic<uint64_t> held = 0;

 private:
  const uint64_t room_;
  std::mutex mutex_;
  std::condition_variable changed_, begun_;
  std::string failing_, unreadable_;
  bool closed_ = false;
};

Entry entry(const std::string& id) {
  return {.id = id, .aliases = {id, "org/" + id}, .path = "/models/" + id + ".gguf"};
}

struct Fixture {
  explicit Fixture(Options options = {}, uint64_t room = 10)
      : loader(std::make_shared<FakeLoader>(room)) {
    options.entries = [this] {
      const std::lock_guard lock(mutex);
      return Result<std::vector<Entry>>(entries);
    };
    if (options.limits.bytes.empty()) options.limits.bytes = {{"gpu", room}};
    manager.emplace(std::move(options), loader);
  }

  // Waits for it.
  Result<ModelLease> get(const api::ModelWish& wish) {
    std::mutex got_mutex;
    std::condition_variable got;
    std::optional<Result<ModelLease>> out;
    const auto handle = manager->acquire(wish, [&](Result<ModelLease> lease) {
      const std::lock_guard lock(got_mutex);
      out = std::move(lease);
      got.notify_all();
    });
    std::unique_lock lock(got_mutex);
    REQUIRE(got.wait_for(lock, kPatience, [&] { return out.has_value(); }));
    return *std::move(out);
  }
  ModelLease lease(const std::string& name) {
    Result<ModelLease> out = get({.name = name});
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  }
  Error error(const api::ModelWish& wish) {
    const Result<ModelLease> out = get(wish);
    REQUIRE_FALSE(out.has_value());
    return out.error();
  }
  api::ModelStatus status(const std::string& id) {
    for (api::ModelStatus& each : manager->list()) {
      if (each.id == id) return std::move(each);
    }
    FAIL("no model " << id);
    return {};
  }
  void wait_until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!is_so()) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      std::this_thread::sleep_for(1ms);
    }
  }
  void wait_for_state(const std::string& id, ModelState state) {
    wait_until([&] { return status(id).state == state; });
  }

  std::mutex mutex;
  std::vector<Entry> entries = {entry("one"), entry("other"), entry("small")};
  std::shared_ptr<FakeLoader> loader;
  std::optional<Manager> manager;
};

// What a text is told by the model of a lease.
void write_text(const ModelLease& model, uint32_t seed) {
  auto& host = dynamic_cast<service::HostThread&>(model->hosts->first());
  const std::vector<int32_t> prompt = service::test::prompt(5, seed);
  const auto reply = service::run(host, service::test::asks(prompt, 3), {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->tokens == service::test::continued(prompt, 3));
}

}  // namespace

TEST_CASE("many threads that want models by turns are all served, and memory suffices") {
  Fixture fixture;
  std::vector<std::thread> threads;
  std::atomic<uint32_t> n_served = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      for (uint32_t round = 0; round < 12; ++round) {
        const char* const names[] = {"one", "org/Other:latest", "small"};
        const ModelLease model = fixture.lease(names[(round + i) % 3]);
        CHECK(fixture.loader->held <= 10);
        write_text(model, i * 100 + round);
        ++n_served;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(n_served == 96);
  // Three that do not all fit were loaded again and again, but not for each request.
  CHECK(fixture.loader->n_loads >= 3);
  fixture.manager.reset();
  CHECK(fixture.loader->held == 0);
  CHECK(fixture.loader->n_opened == 0);
}

TEST_CASE("what has measured a model is given to its load, or goes") {
  std::atomic<int64_t> now_ms = 1'000;
  Options options;
  options.now = [&] { return Time(now_ms.load()); };
  Fixture fixture(std::move(options));
  FakeLoader& loader = *fixture.loader;
  ModelLease model = fixture.lease("one");
  CHECK(loader.n_from_opened == 1);
  CHECK(loader.n_opened == 0);
  std::atomic<uint32_t> n_got = 0;
  const auto count = [&](const Result<ModelLease>& lease) { n_got += lease.has_value() ? 1 : 100; };
  // It waits for room, and what it takes meanwhile is shown; then nobody waits for it any more.
  auto waits = fixture.manager->acquire({.name = "other"}, count);
  fixture.wait_until([&] { return loader.n_opened == 1; });
  fixture.wait_until([&] { return fixture.status("other").held.contains("host"); });
  CHECK(fixture.status("other").state == ModelState::kUnloaded);
  waits.reset();
  fixture.wait_until([&] { return loader.n_opened == 0; });
  CHECK(fixture.status("other").held.empty());
  // Its file is another by the time, and it waits for long.
  waits = fixture.manager->acquire({.name = "other"}, count);
  {
    const std::lock_guard lock(fixture.mutex);
    fixture.entries[1].digest = "another";
  }
  fixture.manager->renew();
  fixture.wait_until([&] { return loader.n_measured == 3 && loader.n_opened == 1; });
  fixture.wait_until([&] { return fixture.status("other").held.contains("host"); });
  now_ms += 10'000;
  fixture.manager->look_at_clock();
  fixture.wait_until([&] { return loader.n_opened == 0; });
  model.reset();
  fixture.wait_until([&] { return n_got == 1; });
  CHECK(loader.n_from_opened == 1);
  CHECK(loader.n_measured == 3);
  // The end of the server is the end of it, too.
  model = fixture.lease("other");
  {
    const std::lock_guard lock(fixture.mutex);
    fixture.entries[0].digest = "another";
  }
  const auto last = fixture.manager->acquire({.name = "one"}, count);
  fixture.wait_until([&] { return loader.n_opened == 1; });
  fixture.manager->stop();
  CHECK(loader.n_opened == 0);
}

TEST_CASE("nothing that is in use is unloaded, and what is idle is at once") {
  Fixture fixture;
  ModelLease model = fixture.lease("one");
  CHECK(fixture.manager->unload("ONE").has_value());
  CHECK(fixture.manager->load("one").error().code == ErrorCode::kInvalidArgument);
  CHECK(fixture.status("one").state == ModelState::kLoaded);
  CHECK(fixture.status("one").seconds_left == 0.0);
  write_text(model, 1);
  std::atomic<bool> got = false;
  const auto handle = fixture.manager->acquire({.name = "other"}, [&](Result<ModelLease> lease) {
    CHECK(lease.has_value());
    got = true;
  });
  CHECK_FALSE(got);
  model.reset();
  fixture.wait_until([&] { return got.load(); });
  CHECK(fixture.status("one").state == ModelState::kUnloaded);
  const Error error = fixture.manager->unload("one").error();
  CHECK(error.text() == "The model \"one\" is not loaded.");
}

TEST_CASE("a name that no model has is told the nearest") {
  Fixture fixture;
  const Error error = fixture.error({.name = "smal"});
  CHECK(error.code == ErrorCode::kNotFound);
  CHECK(error.text() == "There is no model \"smal\" here; did you mean \"small\"?");
  CHECK(fixture.error({.name = "/etc/passwd"}).text() == "There is no model \"/etc/passwd\" here.");
  CHECK(fixture.error({.name = std::string(5000, 'x')}).text().size() < 400);
  CHECK(fixture.error({}).code == ErrorCode::kInvalidArgument);
  CHECK(fixture.manager->load("smal").error().code == ErrorCode::kNotFound);
  // One that comes later is found.
  {
    const std::lock_guard lock(fixture.mutex);
    fixture.entries = {entry("smal")};
  }
  CHECK(fixture.lease("smal")->id == "smal");
  CHECK(fixture.lease("")->id == "smal");
  CHECK(fixture.manager->list().size() == 1);
}

TEST_CASE("who waits for a load that fails is told why, and others are not kept from theirs") {
  Fixture fixture;
  std::mutex mutex;
  std::vector<std::string> events;
  const auto listening = fixture.manager->listen([&](const api::ModelEvent& event) {
    const std::lock_guard lock(mutex);
    events.push_back(fmt::format("{} {} {}", event.id, api::name_of(event.state), event.error));
  });
  fixture.loader->fail("one");
  CHECK(fixture.error({.name = "one"}).text() == "It cannot be read.");
  CHECK(fixture.status("one").error == "It cannot be read.");
  CHECK(fixture.error({.name = "one"}).text().ends_with("It is tried again in 1 s"));
  fixture.loader->cannot_read("other");
  CHECK(fixture.error({.name = "other"}).text() == "It is no model.");
  fixture.lease("small");
  fixture.loader->fail("");
  CHECK(fixture.manager->load("one").has_value());
  fixture.wait_for_state("one", ModelState::kLoaded);
  fixture.wait_until([&] {
    const std::lock_guard lock(mutex);
    return events.size() >= 7;
  });
  CHECK(events == std::vector<std::string>{"one loading ", "one unloaded It cannot be read.",
                                           "other unloaded It is no model.", "small loading ",
                                           "small loaded ", "one loading ", "one loaded "});
}

TEST_CASE("a load goes on while somebody waits, and ends where nobody does") {
  Fixture fixture;
  fixture.loader->close();
  std::atomic<uint32_t> n_got = 0;
  const auto count = [&](const Result<ModelLease>& lease) { n_got += lease.has_value() ? 1 : 100; };
  auto first = fixture.manager->acquire({.name = "one"}, count);
  fixture.loader->wait_for_load(1);
  auto second = fixture.manager->acquire({.name = "one"}, count);
  first.reset();
  CHECK(fixture.status("one").state == ModelState::kLoading);
  second.reset();
  // It is only now that others need the room.
  const auto third = fixture.manager->acquire({.name = "other"}, count);
  fixture.loader->wait_for_load(2);
  fixture.loader->open();
  fixture.wait_until([&] { return n_got > 0; });
  CHECK(n_got == 1);
  CHECK(fixture.status("other").state == ModelState::kLoaded);
}

TEST_CASE("what is not to be loaded of itself is loaded when somebody says so") {
  Options options;
  options.autoload = false;
  Fixture fixture(std::move(options));
  CHECK(fixture.error({.name = "one"}).text() == "The model \"one\" is not loaded.");
  CHECK(fixture.get({.name = "one", .autoload = true}).has_value());
  fixture.lease("one");
  CHECK_FALSE(fixture.get({.name = "other", .autoload = false}).has_value());
  CHECK(fixture.manager->load("other").has_value());
  fixture.wait_for_state("other", ModelState::kLoaded);
  fixture.lease("other");
}

TEST_CASE("idle models fall asleep and remember, then go") {
  std::atomic<int64_t> now_ms = 1'000;
  Options options;
  options.now = [&] { return Time(now_ms.load()); };
  options.limits.sleep_after = 10s;
  options.limits.keep_alive = 60s;
  Fixture fixture(std::move(options));
  fixture.lease("one");
  CHECK(fixture.status("one").seconds_left == 60.0);
  now_ms += 10'000;
  fixture.manager->look_at_clock();
  fixture.wait_until([&] { return fixture.loader->held == 0; });
  CHECK(fixture.status("one").state == ModelState::kSleeping);
  fixture.lease("one");
  CHECK(fixture.loader->n_remembered == 1);
  CHECK(fixture.get({.name = "one", .keep_alive = 600}).has_value());
  CHECK(fixture.get({.name = "one", .keep_alive = 1}).has_value());
  CHECK(fixture.status("one").seconds_left == 600.0);
  now_ms += 10'000;
  fixture.manager->look_at_clock();
  fixture.wait_until([&] { return fixture.loader->held == 0; });
  now_ms += 590'000;
  fixture.manager->look_at_clock();
  fixture.wait_for_state("one", ModelState::kUnloaded);
  CHECK(fixture.get({.name = "one", .keep_alive = 0}).has_value());
  fixture.wait_until([&] { return fixture.loader->held == 0; });
}

TEST_CASE("a model whose file is another now is loaded from that") {
  Fixture fixture;
  ModelLease model = fixture.lease("one");
  {
    const std::lock_guard lock(fixture.mutex);
    fixture.entries[0].digest = "another";
    fixture.entries.pop_back();
  }
  fixture.manager->renew();
  CHECK(fixture.manager->list().size() == 2);
  CHECK(fixture.loader->n_loads == 1);
  model.reset();
  fixture.lease("one");
  fixture.wait_until([&] { return fixture.loader->n_loads == 2; });
}

TEST_CASE("what models take is known before they are loaded, and looked at again") {
  Options options;
  std::atomic<bool> sees = true;
  options.takes = [&sees](const Entry& entry) {
    return service::Takes{.pictures = sees && entry.id == "one", .sounds = false};
  };
  Fixture fixture(std::move(options));
  const auto pictures = [&](size_t i) { return fixture.manager->list().at(i).takes->pictures; };
  CHECK(pictures(0));
  CHECK_FALSE(pictures(1));
  sees = false;
  fixture.manager->renew();
  CHECK_FALSE(pictures(0));
  // A loaded one says it itself.
  const ModelLease model = fixture.lease("one");
  CHECK_FALSE(fixture.manager->list().at(0).takes.has_value());
}

TEST_CASE("whoever ends a server leaves nobody waiting") {
  Fixture fixture;
  const ModelLease model = fixture.lease("one");
  std::mutex mutex;
  std::vector<std::string> errors;
  const auto note = [&](const Result<ModelLease>& lease) {
    const std::lock_guard lock(mutex);
    errors.push_back(lease ? "" : lease.error().text());
  };
  const auto waits = fixture.manager->acquire({.name = "other"}, note);
  fixture.loader->close();
  const auto loads = fixture.manager->acquire({.name = "small"}, note);
  fixture.manager->stop();
  CHECK(errors == std::vector<std::string>(2, "The server is being shut down."));
  CHECK(fixture.error({.name = "one"}).code == ErrorCode::kCancelled);
  fixture.manager.reset();
  // The lease is still good to look at.
  CHECK(model->id == "one");
  CHECK(model->status().closed);
}

TEST_CASE("what is to be loaded at the start is") {
  auto loader = std::make_shared<FakeLoader>(10);
  Options options;
  options.entries = [] {
    std::vector<Entry> out = {entry("one")};
    out[0].load_at_start = true;
    return Result<std::vector<Entry>>(std::move(out));
  };
  const Manager manager(std::move(options), loader);
  loader->wait_for_load(1);
}
