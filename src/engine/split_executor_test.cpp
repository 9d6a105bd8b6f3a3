// Two executors joined: what each is told, in which order, and what is under way at once.
#include "engine/split_executor.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

using namespace puna;
using base::Result;
using base::Task;
using engine::Executor;
using engine::PagePlace;

namespace {

using Log = std::vector<std::string>;

// Says what it is told. As the first of two it hands over ten times the token, when it is polled
// (late) or at once; as the second it says what it was handed.
class Said final : public Executor {
 public:
  Said(Log& log, std::string name, bool late) : log_(log), name_(std::move(name)), late_(late) {}

  Task<Result<void>> run(plan::Step step, std::span<float> out) override {
    say("runs {}{}", step.tokens.front(), handed(step));
    if (fails) co_return base::fail(base::ErrorCode::kDevice, "refused");
    if (late_) {
      co_await base::await_callback<bool>(
          [&](std::function<void(bool)> done) { waiting_.push_back(std::move(done)); });
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(10 * step.tokens[i]);
    say("ran {}", step.tokens.front());
    co_return {};
  }
  Task<Result<void>> decode(plan::Step step, std::vector<engine::OutputSampling>, uint32_t n_steps,
                            engine::OnChosen on_chosen) override {
    CHECK(n_steps == 1);
    say("decodes {}{}", step.tokens.front(), handed(step));
    std::vector<kernels::Chosen> chosen(1);
    chosen.front().id = step.tokens.back() + 1;
    on_chosen(chosen);
    co_return {};
  }
  Task<Result<void>> rest() override {
    say("rests");
    co_return {};
  }
  bool begins_ahead() const override { return late_; }

  Result<void> set_pages(uint32_t, uint32_t first, std::span<const uint32_t> pages,
                         std::span<const uint32_t>) override {
    say("page {} is {}", first, pages.front());
    return {};
  }
  Result<void> copy_page(PagePlace from, PagePlace to) override {
    say("copies {} to {}", from.all, to.all);
    return {};
  }
  Result<void> save_state(uint32_t, uint32_t snapshot) override {
    say("saves {}", snapshot);
    return {};
  }
  Result<void> restore_state(uint32_t snapshot, uint32_t) override {
    say("restores {}", snapshot);
    return {};
  }
  engine::KeptBytes kept_bytes() const override { return {.page = 4, .window = 0, .states = {}}; }
  bool grows_with_use() const override { return false; }
  Task<Result<void>> read_page(PagePlace page, std::span<std::byte>) override {
    say("reads page {}", page.all);
    co_return {};
  }
  Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    say("page {} begins with {}", page.all, static_cast<int>(bytes.front()));
    return {};
  }
  Task<Result<void>> read_state(uint32_t, size_t, std::span<std::byte>) override { co_return {}; }
  Result<void> write_state(uint32_t, size_t, std::span<const std::byte>) override { return {}; }
  Result<engine::StepTimes> time_step(const plan::Step&, const kernels::SamplingParams&) override {
    return engine::StepTimes{};
  }
  plan::MemoryUse memory() const override { return {}; }
  void poll() override {
    if (waiting_.empty()) return;
    const auto done = std::move(waiting_.front());
    waiting_.pop_front();
    done(true);
  }

  bool fails = false;

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    log_.push_back(name_ + " " + fmt::format(text, std::forward<Args>(args)...));
  }
  static std::string handed(const plan::Step& step) {
    return step.handed.empty() ? "" : fmt::format(" with {}", step.handed.front());
  }

  Log& log_;
  std::string name_;
  bool late_;
  std::deque<std::function<void(bool)>> waiting_;
};

struct Joined {
  explicit Joined(bool first_is_late) {
    auto first = std::make_unique<Said>(log, "first", first_is_late);
    auto rest = std::make_unique<Said>(log, "rest", false);
    parts = {first.get(), rest.get()};
    both = engine::join(std::move(first), std::move(rest), /*n_handed=*/1);
  }

  Result<void> run(int32_t token) {
    plan::Step step;
    step.add(0, std::span(&token, 1), 0);
    return base::run_until(both->run(std::move(step), {}), [this] { both->poll(); });
  }
  // Writes n tokens behind one.
  Result<void> decode(int32_t token, uint32_t n) {
    plan::Step step;
    step.add(0, std::span(&token, 1), 0);
    step.output_rows = {0};
    return base::run_until(both->decode(std::move(step), std::vector<engine::OutputSampling>(1), n,
                                        [](std::span<const kernels::Chosen>) { return true; }),
                           [this] { both->poll(); });
  }
  Result<void> rest() {
    return base::run_until(both->rest(), [this] { both->poll(); });
  }
  Log said() { return std::exchange(log, {}); }

  Log log;
  std::array<Said*, 2> parts;
  std::unique_ptr<Executor> both;
};

}  // namespace

TEST_CASE("the first layers are at a step of a prompt while the rest are at the one before it") {
  Joined joined(/*first_is_late=*/true);
  REQUIRE(joined.run(1).has_value());
  CHECK(joined.said() == Log{"first runs 1"});
  REQUIRE(joined.run(2).has_value());
  CHECK(joined.said() == Log{"first runs 2", "first ran 1", "rest runs 1 with 10", "rest ran 1"});
  REQUIRE(joined.run(3).has_value());
  CHECK(joined.said() == Log{"first runs 3", "first ran 2", "rest runs 2 with 20", "rest ran 2"});
  REQUIRE(joined.decode(4, 2).has_value());
  CHECK(joined.said() == Log{"first runs 4", "first ran 3", "rest runs 3 with 30", "rest ran 3",
                             "first ran 4", "rest decodes 4 with 40", "first runs 5", "first ran 5",
                             "rest decodes 5 with 50"});
}

TEST_CASE("first layers that are done at once hand over at once") {
  Joined joined(/*first_is_late=*/false);
  for (const int32_t token : {1, 2}) {
    REQUIRE(joined.run(token).has_value());
    CHECK(joined.said() ==
          Log{fmt::format("first runs {}", token), fmt::format("first ran {}", token),
              fmt::format("rest runs {0} with {0}0", token), fmt::format("rest ran {}", token)});
  }
}

TEST_CASE("what comes between steps comes between the same steps of both") {
  Joined joined(/*first_is_late=*/true);
  REQUIRE(joined.run(1).has_value());
  const std::vector<uint32_t> pages = {7};
  const std::vector<std::byte> bytes = {std::byte(1), {}, {}, {}, std::byte(2), {}, {}, {}};
  REQUIRE(joined.both->set_pages(0, 3, pages, {}).has_value());
  REQUIRE(joined.both->copy_page({.all = 1}, {.all = 2}).has_value());
  REQUIRE(joined.both->write_page({.all = 5}, bytes).has_value());
  REQUIRE(joined.both->save_state(0, 8).has_value());
  REQUIRE(joined.both->restore_state(9, 0).has_value());
  CHECK(joined.said() == Log{"first runs 1", "first page 3 is 7", "first copies 1 to 2",
                             "first page 5 begins with 1", "first saves 8", "first restores 9"});
  REQUIRE(joined.run(2).has_value());
  CHECK(joined.said() == Log{"first runs 2", "first ran 1", "rest runs 1 with 10", "rest ran 1",
                             "rest page 3 is 7", "rest copies 1 to 2", "rest page 5 begins with 2",
                             "rest saves 8", "rest restores 9"});
  std::vector<std::byte> page(8);
  REQUIRE(base::run_until(joined.both->read_page({.all = 6}, page), [&] {
            joined.both->poll();
          }).has_value());
  CHECK(joined.said() == Log{"first ran 2", "rest runs 2 with 20", "rest ran 2",
                             "first reads page 6", "rest reads page 6"});
  // Nothing waits: both are told at once.
  REQUIRE(joined.both->copy_page({.all = 3}, {.all = 4}).has_value());
  CHECK(joined.said() == Log{"first copies 3 to 4", "rest copies 3 to 4"});
}

TEST_CASE("a rest ends what is under way, and so does the end") {
  Joined joined(/*first_is_late=*/true);
  REQUIRE(joined.run(1).has_value());
  REQUIRE(joined.rest().has_value());
  CHECK(joined.said() == Log{"first runs 1", "first ran 1", "rest runs 1 with 10", "rest ran 1",
                             "first rests", "rest rests"});
  REQUIRE(joined.run(2).has_value());
  joined.both.reset();
  CHECK(joined.said() == Log{"first runs 2", "first ran 2"});
}

TEST_CASE("an error of a step is told by a call after it, and steps go on") {
  Joined joined(/*first_is_late=*/true);
  REQUIRE(joined.run(1).has_value());
  joined.parts[1]->fails = true;
  const auto second = joined.run(2);
  REQUIRE(!second.has_value());
  CHECK(second.error().text().find("refused") != std::string::npos);
  joined.parts[1]->fails = false;
  joined.said();
  REQUIRE(joined.rest().has_value());
  CHECK(joined.said() ==
        Log{"first ran 2", "rest runs 2 with 20", "rest ran 2", "first rests", "rest rests"});
  joined.parts[0]->fails = true;
  REQUIRE(!joined.decode(3, 1).has_value());
  joined.parts[0]->fails = false;
  joined.said();
  REQUIRE(joined.decode(4, 1).has_value());
  CHECK(joined.said() == Log{"first runs 4", "first ran 4", "rest decodes 4 with 40"});
}
