// The host with a thread, called from many. Nothing here depends on how long anything takes.
#include "service/host_thread.h"

#include <doctest/doctest.h>

#include <future>
#include <random>
#include <semaphore>

#include "service/testing/fake_model.h"

namespace puna::service {
namespace {

using engine::StopReason;
using test::asks;
using test::continued;
using test::fake_model;
using test::next_written;
using test::prompt;
using test::read_all;

// Until the engine's thread has come so far.
void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::yield();
}

// Keeps the engine's thread busy until it is let go.
class Blocker {
 public:
  explicit Blocker(Host& host) {
    host.post_job<bool>(
        [this](LoadedModel&) -> base::Task<base::Result<bool>> {
          begun_.release();
          let_go_.acquire();
          co_return true;
        },
        [](const base::Result<bool>&) {});
    begun_.acquire();
  }
  void let_go() { let_go_.release(); }

 private:
  std::binary_semaphore begun_{0}, let_go_{0};
};

void in_threads(uint32_t n, const std::function<void(uint32_t thread)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("texts posted from many threads get the tokens that they get alone") {
  HostThread host(fake_model().model);
  std::atomic<int> n_right = 0;
  in_threads(16, [&](uint32_t thread) {
    for (uint32_t i = 0; i < 4; ++i) {
      const auto text = prompt(10 + 7 * thread + i, thread % 3);
      const auto answer = host.post(asks(text, 20 + i));
      if (read_all(**answer) == continued(text, 20 + i)) ++n_right;
    }
  });
  CHECK(n_right == 16 * 4);
  const HostStatus status = host.status();
  CHECK(status.n_running + status.n_waiting + status.n_held == 0);
  CHECK(status.n_pages_in_use == 0);
  CHECK(status.n_pages == 64);
  CHECK(status.n_generated_tokens == 16 * (20 + 21 + 22 + 23));
  CHECK(status.n_prompt_tokens > 0);
  CHECK(status.n_cached_tokens > 0);
}

TEST_CASE("a reader that never reads keeps nobody waiting, and its text is as long as its queue") {
  HostThread host(fake_model({.n_sequences = 2}).model, {.n_queued = 5});
  const auto never_read = host.post(asks(prompt(30, 1), 100));
  const auto read_late = host.post(asks(prompt(30, 2), 100));
  wait_until([&] { return host.status().n_held == 2; });
  in_threads(4, [&](uint32_t thread) {
    const auto text = prompt(50, 10 + thread);
    const auto answer = host.post(asks(text, 30));
    const bool right = read_all(**answer) == continued(text, 30);
    CHECK(right);
  });
  CHECK(host.status().n_generated_tokens == 2 * 5 + 4 * 30);
  CHECK(host.status().n_held == 2);
  CHECK(read_all(**read_late) == continued(prompt(30, 2), 100));
}

TEST_CASE("an event loop is told when there is something to read") {
  HostThread host(fake_model().model, {.n_queued = 4});
  const auto ready = std::make_shared<std::counting_semaphore<>>(0);
  const auto answer = host.post(asks(prompt(12, 1), 60), [ready] { ready->release(); });
  std::vector<int32_t> tokens;
  while (!(*answer)->ended()) {
    ready->acquire();
    for (const int32_t id : test::read_what_came(**answer)) tokens.push_back(id);
  }
  CHECK(tokens == continued(prompt(12, 1), 60));
}

TEST_CASE("who waits for a text that does not come can give up in time") {
  HostThread host(fake_model().model);
  Blocker blocker(host);
  const auto answer = host.post(asks(prompt(5, 1), 3));
  CHECK_FALSE((*answer)->wait(std::chrono::milliseconds(1)));
  blocker.let_go();
  CHECK((*answer)->wait());
  CHECK(read_all(**answer).size() == 3);
}

TEST_CASE("a device that never waits is interrupted after a step, for a post and for a cancel") {
  std::binary_semaphore far_enough{0}, posted{0};
  uint32_t n_steps = 0;
  const auto at_step_20 = [&] {
    if (++n_steps == 20) {
      far_enough.release();
      posted.acquire();
    }
    return false;
  };
  HostThread host(
      fake_model({.context = 4096, .n_pages = 256, .at_once = true, .fails = at_step_20}).model,
      {.n_queued = 10'000});
  const auto long_one = host.post(asks(prompt(5, 1), 4000));
  far_enough.acquire();
  uint64_t n_then = 0;
  std::unique_ptr<Answer> short_one = *host.post(asks(prompt(5, 2), 1), [&] {
    n_then = host.status().n_generated_tokens;
    (*long_one)->cancel();
  });
  posted.release();
  CHECK(read_all(*short_one).size() == 1);
  const auto tokens = read_all(**long_one);
  // A token of each of 20 steps, one of each text with the step after that, and one that the cancel
  // finds under way.
  CHECK(n_then <= 22);
  CHECK(tokens.size() <= 23);
  CHECK(tokens == continued(prompt(5, 1), tokens.size()));
}

TEST_CASE("a text cancelled before its first step has no tokens") {
  HostThread host(fake_model().model);
  Blocker blocker(host);
  const auto answer = host.post(asks(prompt(5, 1), 100));
  (*answer)->cancel();
  blocker.let_go();
  CHECK(read_all(**answer).empty());
  const auto reply = (*answer)->reply();
  REQUIRE(reply);
  CHECK(reply->stats.stop == StopReason::kCancelled);
}

TEST_CASE("jobs from many threads bring their results beside texts") {
  HostThread host(fake_model({.n_sequences = 3}).model);
  std::atomic<uint32_t> n_right = 0;
  in_threads(8, [&](uint32_t thread) {
    const auto text = host.post(asks(prompt(20, thread), 30));
    std::promise<base::Result<uint32_t>> promise;
    host.post_job<uint32_t>(
        [thread](LoadedModel& model) -> base::Task<base::Result<uint32_t>> {
          uint32_t n = 0;
          PUNA_CO_TRY(co_await model.scheduler->alone(
              std::vector<uint32_t>(1, 40),
              [&](engine::Scheduler::Sequences sequences) -> base::Task<base::Result<void>> {
                const uint32_t sequence = sequences[0];
                PUNA_CO_TRY(co_await model.engine->prefill(sequence, prompt(40, thread)));
                n = model.engine->cache().n_tokens(sequence);
                co_return {};
              }));
          co_return n + thread;
        },
        [&](base::Result<uint32_t> result) { promise.set_value(std::move(result)); });
    if (*promise.get_future().get() == 40 + thread) ++n_right;
    if (read_all(**text) == continued(prompt(20, thread), 30)) ++n_right;
  });
  CHECK(n_right == 16);
}

TEST_CASE("a host that is drained finishes what it has, and takes no more") {
  HostThread host(fake_model().model, {.n_queued = 4});
  const auto answer = host.post(asks(prompt(5, 1), 20));
  std::promise<void> drained;
  std::atomic<bool> is_drained = false;
  host.drain([&] {
    is_drained = true;
    drained.set_value();
  });
  CHECK(host.status().closed);
  const auto refused = host.post(asks(prompt(5, 2), 3));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kCancelled);
  std::optional<base::Result<int>> job;
  host.post_job<int>([](LoadedModel&) -> base::Task<base::Result<int>> { co_return 1; },
                     [&](base::Result<int> result) { job = std::move(result); });
  REQUIRE(job);
  CHECK(job->error().code == base::ErrorCode::kCancelled);
  CHECK_FALSE(is_drained);  // nobody has read the text
  CHECK(read_all(**answer) == continued(prompt(5, 1), 20));
  drained.get_future().wait();
  // With nothing under way, and where the thread is gone, it is at once.
  std::promise<void> again;
  host.drain([&] { again.set_value(); });
  again.get_future().wait();
  host.stop();
  bool after = false;
  host.drain([&] { after = true; });
  CHECK(after);
}

TEST_CASE("a host that stops cancels texts that run, wait and are held") {
  std::vector<std::unique_ptr<Answer>> answers;
  {
    HostThread host(fake_model({.n_sequences = 3}).model, {.n_queued = 8});
    for (uint32_t i = 0; i < 12; ++i) answers.push_back(*host.post(asks(prompt(20 + i, i), 200)));
    wait_until([&] { return host.status().n_held >= 3; });
    host.stop();
    CHECK_FALSE(host.post(asks(prompt(5, 1), 3)));
    const HostStatus status = host.status();
    CHECK(status.n_running + status.n_waiting == 0);
    CHECK(status.n_pages_in_use == 0);
  }
  // The answers are there when the host is not.
  for (uint32_t i = 0; i < 12; ++i) {
    const auto tokens = read_all(*answers[i]);
    CHECK(tokens == continued(prompt(20 + i, i), tokens.size()));
    CHECK(answers[i]->reply()->stats.stop == StopReason::kCancelled);
    answers[i]->cancel();  // changes nothing
  }
}

TEST_CASE("with the device lost every text is told, and what comes later too") {
  std::atomic<bool> lost = false;
  HostThread host(fake_model({.n_sequences = 32,
                              .n_pages = 256,
                              .fails = [&] { return lost.load(); },
                              .error = base::ErrorCode::kDeviceLost})
                      .model,
                  {.n_queued = 4});
  std::vector<std::unique_ptr<Answer>> answers;
  for (uint32_t i = 0; i < 40; ++i) answers.push_back(*host.post(asks(prompt(20, i), 100)));
  wait_until([&] { return host.status().n_held >= 32; });
  CHECK_FALSE(host.status().device_lost);
  lost = true;
  answers.push_back(*host.post(asks(prompt(20, 50), 100)));
  for (const auto& answer : answers) {
    (void)read_all(*answer);
    const auto reply = answer->reply();
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == base::ErrorCode::kDeviceLost);
  }
  CHECK(host.status().device_lost);
  CHECK(host.status().n_pages_in_use == 0);
}

TEST_CASE("a request that the engine refuses is told why") {
  HostThread host(fake_model().model);
  const auto answer = host.post(asks(prompt(1000, 1), 3));
  CHECK(read_all(**answer).empty());
  const auto reply = (*answer)->reply();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == base::ErrorCode::kInvalidArgument);
}

// What ThreadSanitizer runs over.
TEST_CASE("threads that post, read, cancel and drop at random leave nothing behind") {
  HostThread host(fake_model({.n_sequences = 8, .n_pages = 40}).model, {.n_queued = 6});
  std::atomic<uint32_t> n_wrong = 0;
  in_threads(64, [&](uint32_t thread) {
    std::mt19937 random(thread);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    for (uint32_t i = 0; i < 40; ++i) {
      const auto text = prompt(1 + below(100), below(3));
      const uint32_t n_tokens = below(30);
      const auto answer = *host.post(asks(text, n_tokens));
      std::vector<int32_t> tokens;
      const auto read = [&](uint32_t n) {
        while (tokens.size() < n && !answer->ended()) {
          answer->wait();
          if (const auto event = next_written(*answer)) tokens.push_back(event->token);
        }
      };
      const uint32_t how = below(6);
      if (how == 0) continue;  // dropped unread
      if (how == 1) read(below(10));
      if (how == 2) {
        read(below(10));
        answer->cancel();
      }
      if (how == 3) (void)host.status();
      if (how == 4) {
        host.post_job<bool>([](LoadedModel&) -> base::Task<base::Result<bool>> { co_return true; },
                            [](const base::Result<bool>&) {});
      }
      if (how != 1) read(1000);
      if (tokens != continued(text, tokens.size())) ++n_wrong;
      if (how > 2 && tokens.size() != n_tokens) ++n_wrong;
    }
  });
  CHECK(n_wrong == 0);
  std::promise<void> drained;
  host.drain([&] { drained.set_value(); });
  drained.get_future().wait();
  CHECK(host.status().n_running + host.status().n_waiting + host.status().n_jobs == 0);
  CHECK(host.status().n_pages_in_use == 0);
}

}  // namespace
}  // namespace puna::service
