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
using engine::RingPart;

namespace {

using Log = std::vector<std::string>;

// Says what it is told. As the first of two it hands over ten times the token, when it is polled
// (late) or at once; as the second it says what it was handed.
class Said final : public Executor, public RingPart {
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
    places.push_back(out.data());
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
  RingPart* ring_part() override { return is_linked ? this : nullptr; }
  Result<void> begin_decode(const plan::Step& first,
                            std::span<const engine::OutputSampling>) override {
    say("decodes from {}", first.tokens.front());
    chosen_ = first.tokens.back();
    return {};
  }
  Result<void> begin_step(const plan::Step& step, bool follows) override {
    say("begins {} at {}", follows ? "what follows" : std::to_string(step.tokens.front()),
        step.positions.front());
    if (fails) return base::fail(base::ErrorCode::kDevice, "refused");
    return {};
  }
  Task<Result<std::vector<kernels::Chosen>>> chosen() override {
    std::vector<kernels::Chosen> out(1);
    out.front().id = ++chosen_;
    if (chosen_ >= in_vain_from) out.clear();
    say("is asked");
    co_return out;
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

  std::vector<const float*> places;  // that it handed values over by
  bool fails = false;
  bool is_linked = false;
  int32_t in_vain_from = INT32_MAX;  // of the tokens that it would choose in a ring

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
  int32_t chosen_ = 0;
  std::deque<std::function<void(bool)>> waiting_;
};

struct Joined {
  explicit Joined(bool first_is_late) {
    auto first = std::make_unique<Said>(log, "first", first_is_late);
    auto rest = std::make_unique<Said>(log, "rest", false);
    parts = {first.get(), rest.get()};
    both = engine::join(std::move(first), std::move(rest),
                        engine::Handed::allocate(/*n=*/1, /*n_rows=*/4).value());
  }

  Result<void> run(int32_t token) {
    plan::Step step;
    step.add(0, std::span(&token, 1), 0);
    return base::run_until(both->run(std::move(step), {}), [this] { both->poll(); });
  }
  // Writes n tokens behind one, or up to the last.
  Result<void> decode(int32_t token, uint32_t n, int32_t last = INT32_MAX) {
    return decode({token}, n, {}, last);
  }
  Result<void> decode(std::vector<int32_t> text, uint32_t n, engine::OutputSampling sampling,
                      int32_t last = INT32_MAX) {
    plan::Step step;
    step.add(0, text, 0);
    step.output_rows = {static_cast<uint32_t>(text.size() - 1)};
    written.clear();
    return base::run_until(both->decode(std::move(step), {std::move(sampling)}, n,
                                        [this, last](std::span<const kernels::Chosen> chosen) {
                                          written.push_back(chosen.front().id);
                                          return chosen.front().id != last;
                                        }),
                           [this] { both->poll(); });
  }
  void link() {
    for (Said* part : parts) part->is_linked = true;
  }
  Result<void> rest() {
    return base::run_until(both->rest(), [this] { both->poll(); });
  }
  Log said() { return std::exchange(log, {}); }

  Log log;
  std::vector<int32_t> written;
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

// The rest may still copy what the first of three was.
TEST_CASE("what three steps in a row hand over lies in places of its own") {
  Joined joined(/*first_is_late=*/true);
  for (const int32_t token : {1, 2, 3, 4, 5}) REQUIRE(joined.run(token).has_value());
  REQUIRE(joined.rest().has_value());
  const std::vector<const float*>& places = joined.parts[0]->places;
  REQUIRE(places.size() == 5);
  for (size_t i = 0; i + 2 < places.size(); ++i) {
    CHECK(places[i] != places[i + 1]);
    CHECK(places[i] != places[i + 2]);
  }
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

// A page has one device.
#ifndef __EMSCRIPTEN__

TEST_CASE("linked parts begin a step before they are asked for the one before") {
  Joined joined(/*first_is_late=*/true);
  joined.link();
  REQUIRE(joined.decode(1, 3).has_value());
  CHECK(joined.written == std::vector<int32_t>{2, 3, 4});
  CHECK(joined.said() == Log{"rest decodes from 1", "first begins 1 at 0", "rest begins 1 at 0",
                             "first begins what follows at 1", "rest begins what follows at 1",
                             "rest is asked", "first begins what follows at 2",
                             "rest begins what follows at 2", "rest is asked", "rest is asked"});
  // A prompt goes by way of the host, its text round. What was begun in vain is asked for too.
  REQUIRE(joined.decode({5, 6}, 9, {}, /*last=*/8).has_value());
  CHECK(joined.written == std::vector<int32_t>{7, 8});
  CHECK(joined.said() == Log{"first runs 5", "first ran 5", "rest decodes 5 with 50",
                             "rest decodes from 7", "first begins 7 at 2", "rest begins 7 at 2",
                             "first begins what follows at 3", "rest begins what follows at 3",
                             "rest is asked", "rest is asked"});
}

TEST_CASE("linked parts go by way of the host where the host has a say in a token") {
  Joined joined(/*first_is_late=*/false);
  joined.link();
  engine::OutputSampling once, moves;
  once.once = true;
  moves.moves = true;
  for (const engine::OutputSampling& sampling : {once, moves}) {
    REQUIRE(joined.decode({1}, 1, sampling).has_value());
    CHECK(joined.said() == Log{"first runs 1", "first ran 1", "rest decodes 1 with 10"});
  }
}

TEST_CASE("a text goes on by way of the host where a linked part has waited in vain") {
  Joined joined(/*first_is_late=*/false);
  joined.link();
  joined.parts[1]->in_vain_from = 3;
  REQUIRE(joined.decode(1, 4).has_value());
  CHECK(joined.written == std::vector<int32_t>{2, 3, 4, 5});
  CHECK(joined.said() == Log{"rest decodes from 1", "first begins 1 at 0", "rest begins 1 at 0",
                             "first begins what follows at 1", "rest begins what follows at 1",
                             "rest is asked", "first begins what follows at 2",
                             "rest begins what follows at 2", "rest is asked", "rest is asked",
                             "first runs 2", "first ran 2", "rest decodes 2 with 20",
                             "first runs 3", "first ran 3", "rest decodes 3 with 30",
                             "first runs 4", "first ran 4", "rest decodes 4 with 40"});
}

TEST_CASE(
    "an error of one of two linked parts ends the text, and the next goes by way of the host") {
  Joined joined(/*first_is_late=*/false);
  joined.link();
  joined.parts[1]->fails = true;
  REQUIRE(!joined.decode(1, 4).has_value());
  CHECK(joined.written.empty());
  joined.parts[1]->fails = false;
  joined.said();
  REQUIRE(joined.decode(1, 1).has_value());
  CHECK(joined.said() == Log{"first runs 1", "first ran 1", "rest decodes 1 with 10"});
}

#endif
