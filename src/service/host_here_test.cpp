// The host without a thread, one step at a time.
#include "service/host_here.h"

#include <doctest/doctest.h>

#include <deque>

#include "service/testing/fake_model.h"

namespace puna::service {
namespace {

using engine::StopReason;
using test::asks;
using test::continued;
using test::next_written;
using test::prompt;
using test::read_what_came;

class Page {
 public:
  explicit Page(const test::FakeSetup& setup = {}, HostOptions options = {})
      : fake_(test::fake_model(setup)),
        host_(
            std::move(fake_.model),
            [this](std::function<void()> next) { queue_.push_back(std::move(next)); }, options) {}

  HostHere& host() { return host_; }
  // One turn of the event loop, or else one step of the device; false when neither waits.
  bool turn() {
    if (queue_.empty()) return fake_.device->pump();
    const auto next = std::move(queue_.front());
    queue_.pop_front();
    next();
    return true;
  }
  void finish() {
    while (turn()) {
    }
  }
  uint64_t n_evaluated() const { return fake_.device->n_tokens(); }

 private:
  std::deque<std::function<void()>> queue_;
  test::FakeModel fake_;
  HostHere host_;
};

TEST_CASE("what is posted begins in the event loop, not in the call") {
  Page page;
  size_t n_ready = 0;
  const auto answer = page.host().post(asks(prompt(5, 1), 3), [&] { ++n_ready; });
  REQUIRE(answer);
  CHECK(page.n_evaluated() == 0);
  CHECK_FALSE((*answer)->next());
  page.finish();
  // Once for the first piece, which nobody took, and once for the end.
  CHECK(n_ready == 2);
  CHECK_FALSE((*answer)->ended());
  CHECK(read_what_came(**answer) == continued(prompt(5, 1), 3));
  REQUIRE((*answer)->ended());
  const auto reply = (*answer)->reply();
  REQUIRE(reply);
  CHECK(reply->tokens == continued(prompt(5, 1), 3));
  CHECK(reply->stats.n_generated == 3);
  CHECK(reply->stats.stop == StopReason::kLength);
}

TEST_CASE("a text goes no further than its reader's queue has room, and on when it is read") {
  Page page({}, {.n_queued = 6});
  const auto answer = page.host().post(asks(prompt(5, 1), 20));
  page.finish();
  CHECK(page.host().status().n_generated_tokens == 6);
  CHECK(page.host().status().n_held == 1);
  // Others go on beside it, also where it has the only sequence.
  const auto other = page.host().post(asks(prompt(9, 2), 4));
  page.finish();
  CHECK(read_what_came(**other) == continued(prompt(9, 2), 4));

  std::vector<int32_t> tokens;
  for (int i = 0; i < 2; ++i) tokens.push_back(next_written(**answer)->token);
  page.finish();
  CHECK(page.host().status().n_generated_tokens == 10);  // held until half is read
  tokens.push_back(next_written(**answer)->token);
  page.finish();
  CHECK(page.host().status().n_generated_tokens == 13);
  while (!(*answer)->ended()) {
    for (const int32_t id : read_what_came(**answer)) tokens.push_back(id);
    page.finish();
  }
  CHECK(tokens == continued(prompt(5, 1), 20));
}

TEST_CASE("a held text makes way where there is one sequence, and loses nothing") {
  Page page({.n_sequences = 1}, {.n_queued = 4});
  const auto held = page.host().post(asks(prompt(5, 1), 12));
  page.finish();
  const auto other = page.host().post(asks(prompt(7, 2), 4));
  page.finish();
  CHECK(read_what_came(**other) == continued(prompt(7, 2), 4));
  std::vector<int32_t> tokens;
  while (!(*held)->ended()) {
    for (const int32_t id : read_what_came(**held)) tokens.push_back(id);
    page.finish();
  }
  CHECK(tokens == continued(prompt(5, 1), 12));
}

TEST_CASE("a text that is cancelled before its first step is never evaluated") {
  Page page;
  const auto answer = page.host().post(asks(prompt(5, 1), 20));
  (*answer)->cancel();
  page.finish();
  CHECK(page.n_evaluated() == 0);
  CHECK(read_what_came(**answer).empty());
  REQUIRE((*answer)->ended());
  CHECK((*answer)->reply()->stats.stop == StopReason::kCancelled);
}

TEST_CASE("a text that is cancelled while it waits or runs ends within a step") {
  Page page({.n_sequences = 1});
  const auto running = page.host().post(asks(prompt(5, 1), 100));
  const auto waiting = page.host().post(asks(prompt(5, 2), 100));
  for (int i = 0; i < 6; ++i) page.turn();
  CHECK(page.host().status().n_running == 1);
  CHECK(page.host().status().n_waiting == 1);
  const auto after_a_step = [&] {
    const uint64_t before = page.n_evaluated();
    while (page.n_evaluated() == before && page.turn()) {
    }
  };
  (*waiting)->cancel();
  after_a_step();
  CHECK(read_what_came(**waiting).empty());
  CHECK((*waiting)->ended());
  (*running)->cancel();
  after_a_step();
  const auto tokens = read_what_came(**running);
  CHECK((*running)->ended());
  CHECK(tokens == continued(prompt(5, 1), tokens.size()));
  CHECK_FALSE(tokens.empty());
  page.finish();
  CHECK(page.host().status().n_pages_in_use == 0);
}

TEST_CASE("a chain of steps ends for what is posted meanwhile") {
  Page page;
  const auto first = page.host().post(asks(prompt(5, 1), 100));
  for (int i = 0; i < 10; ++i) page.turn();
  const auto second = page.host().post(asks(prompt(5, 2), 1));
  size_t n_turns = 0;
  while (!(*second)->ended()) {
    (void)read_what_came(**second);
    REQUIRE(page.turn());
    ++n_turns;
  }
  // The step under way, that which reads the prompt, and what the event loop has beside them.
  CHECK(n_turns <= 5);
  CHECK_FALSE((*first)->ended());
  (*first)->cancel();
  page.finish();
  CHECK(page.host().status().n_pages_in_use == 0);
}

TEST_CASE("a job runs between two steps, and its answer is delivered") {
  Page page;
  const auto text = page.host().post(asks(prompt(5, 1), 50));
  for (int i = 0; i < 5; ++i) page.turn();
  std::optional<base::Result<size_t>> result;
  const std::string captured = "what a job brings along stays until it has ended";
  page.host().post_job<size_t>(
      [captured](LoadedModel& model) -> base::Task<base::Result<size_t>> {
        PUNA_CO_TRY(co_await model.scheduler->alone(
            std::vector<uint32_t>(1, 8), [&](engine::Scheduler::Sequences sequences) {
              return model.engine->prefill(sequences[0], prompt(8, 3));
            }));
        co_return captured.size();
      },
      [&](base::Result<size_t> done) { result = std::move(done); });
  CHECK_FALSE(result);
  page.finish();
  REQUIRE(result);
  CHECK(**result == captured.size());
  CHECK(read_what_came(**text) == continued(prompt(5, 1), 50));
}

TEST_CASE("who drops the handle of a text ends it") {
  Page page;
  auto answer = page.host().post(asks(prompt(40, 1), 200));
  for (int i = 0; i < 10; ++i) page.turn();
  CHECK(page.host().status().n_running == 1);
  answer->reset();
  const uint64_t before = page.n_evaluated();
  page.finish();
  CHECK(page.n_evaluated() <= before + 1);
  CHECK(page.host().status().n_running == 0);
  CHECK(page.host().status().n_pages_in_use == 0);
}

TEST_CASE("a stopped host ends what it has, and takes no more") {
  Page page({.n_sequences = 2});
  std::vector<std::unique_ptr<Answer>> answers;
  for (uint32_t i = 0; i < 5; ++i)
    answers.push_back(*page.host().post(asks(prompt(5 + i, i), 200)));
  for (int i = 0; i < 12; ++i) page.turn();
  page.host().stop();
  const auto refused = page.host().post(asks(prompt(5, 1), 3));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kCancelled);
  CHECK(refused.error().message == "The model fake is being closed; it takes no more requests.");
  page.finish();
  for (const auto& answer : answers) {
    (void)read_what_came(*answer);
    REQUIRE(answer->ended());
    CHECK(answer->reply()->stats.stop == StopReason::kCancelled);
  }
  CHECK(page.host().status().n_waiting + page.host().status().n_running == 0);
}

TEST_CASE("a reader is told how far the prompt is read, before the first token") {
  Page page;
  const auto first = page.host().post(asks(prompt(100, 1), 3));
  page.finish();
  CHECK(read_what_came(**first).size() == 3);
  const auto answer = page.host().post(asks(prompt(100, 1), 3));
  page.finish();
  std::vector<engine::PromptProgress> told;
  std::vector<uint32_t> n_tokens;
  while (const auto event = (*answer)->next()) {
    if (event->prompt) {
      CHECK(n_tokens.empty());
      CHECK(event->token < 0);
      told.push_back(*event->prompt);
    } else {
      n_tokens.push_back(event->n_tokens);
    }
  }
  CHECK(n_tokens == std::vector<uint32_t>{1, 2, 3});
  // What nobody has taken is told by its first and its last.
  REQUIRE(told.size() == 2);
  CHECK(told[0].n_tokens == 100);
  CHECK(told[0].n_cached > 0);
  CHECK(told[0].n_read == told[0].n_cached);
  CHECK(told[1].n_cached == told[0].n_cached);
  CHECK(told[1].n_read == 100);
  CHECK((*answer)->reply()->stats.n_cached == told[0].n_cached);
}

}  // namespace
}  // namespace puna::service
