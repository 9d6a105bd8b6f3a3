// Downloads by themselves, and as a manager has them.
#include "manager/downloads.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "manager/manager.h"

using namespace puna;
using namespace puna::manager;
using namespace std::chrono_literals;
using api::ModelState;
using base::ErrorCode;
using base::Result;

namespace {

constexpr auto kPatience = 60s;

// A registry whose pulls bring half of a file and then wait for finish().
class SlowStore {
 public:
  Downloads::Pull pull() {
    return [this](const std::string& stored_as, const Downloads::OnFile& on_file,
                  const std::atomic<bool>& cancelled) -> Result<void> {
      on_file("sha256:a", {0, 8});
      on_file("sha256:a", {8, 8});
      on_file("sha256:b", {16, 16});
      std::unique_lock lock(mutex_);
      while (!finished_.contains(stored_as) && !cancelled) changed_.wait_for(lock, 1ms);
      if (cancelled) return base::fail(ErrorCode::kCancelled, "It was cancelled.");
      if (!finished_.at(stored_as))
        return base::fail(ErrorCode::kNetwork, "Nobody has " + stored_as + ".");
      stored_.push_back({.id = stored_as, .aliases = {stored_as}, .stored_as = stored_as});
      stored_.back().source = "puna";
      return {};
    };
  }
  void finish(const std::string& stored_as, bool is_there = true) {
    const std::lock_guard lock(mutex_);
    finished_[stored_as] = is_there;
    changed_.notify_all();
  }
  std::vector<Entry> stored() {
    const std::lock_guard lock(mutex_);
    return stored_;
  }
  Result<void> remove(const std::string& stored_as) {
    const std::lock_guard lock(mutex_);
    std::erase_if(stored_, [&](const Entry& each) { return each.stored_as == stored_as; });
    return {};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, bool> finished_;
  std::vector<Entry> stored_;
};

// What is said, and waiting for it.
class Said {
 public:
  void add(std::string words) {
    const std::lock_guard lock(mutex_);
    words_.push_back(std::move(words));
    changed_.notify_all();
  }
  void wait_for(const std::string& words) {
    std::unique_lock lock(mutex_);
    REQUIRE_MESSAGE(
        changed_.wait_for(lock, kPatience,
                          [&] { return std::ranges::find(words_, words) != words_.end(); }),
        words);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> words_;
};

class NoLoader final : public Loader {
 public:
  Result<Measured> measure(const Entry&, const std::atomic<bool>&) override {
    return base::fail(ErrorCode::kCorrupt, "It is no model.");
  }
  Result<std::unique_ptr<Instance>> load(const Entry&, Order) override {
    return base::fail(ErrorCode::kCorrupt, "It is no model.");
  }
};

struct Served {
  Served() {
    Options options;
    options.entries = [this] {
      std::vector<Entry> out = store.stored();
      out.push_back({.id = "foreign", .aliases = {"foreign"}, .source = "ollama"});
      return Result<std::vector<Entry>>(std::move(out));
    };
    options.pull = store.pull();
    options.remove = [this](const std::string& stored_as) { return store.remove(stored_as); };
    manager.emplace(std::move(options), std::make_shared<NoLoader>());
    listening = manager->listen([this](const api::ModelEvent& event) {
      constexpr const char* kNames[] = {"is", "coming", "here", "failed", "removed", "list"};
      said.add(fmt::format("{} {}", kNames[static_cast<size_t>(event.kind)], event.id));
    });
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    for (const api::ModelStatus& each : manager->list()) out.push_back(each.id);
    return out;
  }

  SlowStore store;
  Said said;
  std::optional<Manager> manager;
  std::shared_ptr<void> listening;
};

}  // namespace

TEST_CASE("as many models as may be are on their way at once, each of them once") {
  SlowStore store;
  Said said;
  Downloads downloads(
      store.pull(), {.progress = [](const auto&) {},
                     .ended = [&](const std::string& name,
                                  const auto& done) { said.add(name + (done ? " ok" : " no")); }});
  for (size_t i = 0; i < Downloads::kMost; ++i)
    REQUIRE(downloads.start(std::to_string(i), std::to_string(i)).has_value());
  CHECK(downloads.start("more", "more").error().code == ErrorCode::kOutOfMemory);
  CHECK(downloads.start("3:latest", "3").error().code == ErrorCode::kInvalidArgument);
  CHECK(downloads.list().size() == Downloads::kMost);
  CHECK_FALSE(downloads.cancel("more"));
  CHECK(downloads.cancel("3"));
  store.finish("5");
  said.wait_for("3 no");
  said.wait_for("5 ok");
  CHECK(downloads.list().size() == Downloads::kMost - 2);
  CHECK(downloads.start("3", "3").has_value());
  downloads.stop();  // and nothing is left waiting
  said.wait_for("0 no");
  CHECK(downloads.start("4", "4").error().code == ErrorCode::kCancelled);
  CHECK(Downloads(nullptr, {}).start("a", "a").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("who is told of the end of a download may ask for the list while another starts") {
  SlowStore store;
  Said said;
  std::optional<Downloads> downloads;
  std::atomic<bool> started = false;
  downloads.emplace(store.pull(), Downloads::Told{.progress = [](const auto&) {},
                                                  .ended =
                                                      [&](const std::string& name, const auto&) {
                                                        said.add(name);
                                                        // Until the other, which waits for the end
                                                        // of this thread, is on its way.
                                                        if (name == "first")
                                                          while (downloads->list().empty())
                                                            std::this_thread::yield();
                                                        started = true;
                                                      }});
  REQUIRE(downloads->start("first", "first").has_value());
  store.finish("first");
  said.wait_for("first");
  REQUIRE(downloads->start("second", "second").has_value());
  CHECK(started);
  downloads->stop();
}

TEST_CASE("a model that is fetched is listed with how far it is, then with the others") {
  Served served;
  REQUIRE(served.manager->download("user/repo:Q8_0", "hf.co/user/repo:Q8_0").has_value());
  served.said.wait_for("coming user/repo:Q8_0");
  api::ModelStatus status;
  do {
    status = served.manager->list().back();
    CHECK(status.id == "user/repo:Q8_0");
    CHECK(status.state == ModelState::kDownloading);
  } while (status.files.size() < 2);
  CHECK((status.files.at("sha256:a") == api::FileProgress{8, 8}));
  CHECK(served.manager->download("user/repo:q8_0", "hf.co/user/repo:Q8_0").error().text() ==
        "The model \"user/repo:q8_0\" is being downloaded already.");
  served.store.finish("hf.co/user/repo:Q8_0");
  served.said.wait_for("here user/repo:Q8_0");
  CHECK(served.ids() == std::vector<std::string>{"foreign", "hf.co/user/repo:Q8_0"});
  CHECK(served.manager->download("user/repo:Q8_0", "hf.co/user/repo:Q8_0").error().text() ==
        "The model \"hf.co/user/repo:Q8_0\" is here already.");
  CHECK(served.manager->download("a//b", "hf.co/a//b").error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("a download that fails or is no longer wanted leaves nothing behind") {
  Served served;
  REQUIRE(served.manager->download("lost", "lost").has_value());
  served.store.finish("lost", /*is_there=*/false);
  served.said.wait_for("failed lost");
  REQUIRE(served.manager->download("unwanted", "unwanted").has_value());
  CHECK(served.manager->unload("unwanted").has_value());
  served.said.wait_for("failed unwanted");
  REQUIRE(served.manager->download("deleted", "deleted").has_value());
  CHECK(served.manager->remove("deleted").has_value());
  served.said.wait_for("removed deleted");
  served.said.wait_for("failed deleted");
  CHECK(served.ids() == std::vector<std::string>{"foreign"});
  REQUIRE(served.manager->download("late", "late").has_value());
  served.manager->stop();
  served.said.wait_for("failed late");
}

TEST_CASE("only what Puna keeps is deleted") {
  Served served;
  REQUIRE(served.manager->download("mine", "mine").has_value());
  served.store.finish("mine");
  served.said.wait_for("here mine");
  CHECK(served.manager->remove("mine").has_value());
  served.said.wait_for("removed mine");
  CHECK(served.ids() == std::vector<std::string>{"foreign"});
  CHECK(served.manager->remove("mine").error().code == ErrorCode::kNotFound);
  CHECK(served.manager->remove("foreign").error().text() ==
        "The model \"foreign\" is not of Puna's store, so it cannot be deleted here.");
}
