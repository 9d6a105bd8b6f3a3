#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace puna::base {
namespace {

TEST_CASE("a pool visits every item exactly once, whatever the sizes") {
  for (const int n_threads : {1, 2, 3, 8}) {
    ThreadPool pool(n_threads);
    for (const uint32_t n_items : {0u, 1u, 2u, 7u, 64u, 1000u}) {
      for (const uint32_t grain : {0u, 1u, 3u, 64u, 5000u}) {
        std::vector<std::atomic<int>> visits(n_items);
        pool.run(n_items, grain, [&](uint32_t begin, uint32_t end) {
          CHECK_MESSAGE(begin < end, "empty range");
          for (uint32_t i = begin; i < end; ++i) visits[i].fetch_add(1, std::memory_order_relaxed);
        });
        for (const auto& n : visits) CHECK(n.load() == 1);
      }
    }
  }
}

TEST_CASE("chunks begin at multiples of the grain and are no shorter, except the last") {
  ThreadPool pool(2);
  std::atomic<bool> good = true;
  pool.run(1001, 16, [&](uint32_t begin, uint32_t end) {
    if (begin % 16 != 0 || (end - begin < 16 && end != 1001)) good = false;
  });
  CHECK(good);
}

TEST_CASE("what workers wrote in one job is read in the next without further locks") {
  ThreadPool pool(3);
  std::vector<uint32_t> values(256, 0);
  for (uint32_t round = 0; round < 2000; ++round) {
    pool.run(256, 1, [&](uint32_t begin, uint32_t end) {
      for (uint32_t i = begin; i < end; ++i) values[i] = values[i] + 1;
    });
    REQUIRE(values[(round * 37) % 256] == round + 1);
  }
}

TEST_CASE("a pool that has gone to sleep wakes up for the next job") {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::atomic<uint32_t> sum = 0;
    pool.run(100, 1, [&](uint32_t begin, uint32_t end) { sum += end - begin; });
    CHECK(sum == 100);
    ThreadPool(2).run(1, 1, [](uint32_t, uint32_t) {});  // made and destroyed beside it
  }
}

TEST_CASE("a worker that kept the caller waiting is left out of the next jobs, and comes back") {
  ThreadPool pool(2);
  if (pool.n_threads() < 2) {
    MESSAGE("SKIPPED: this build has no threads, so no worker comes late");
    return;
  }
  std::atomic<bool> worker_came = false;
  const auto any_chunk = [&](uint32_t, uint32_t) {
    if (thread_index() > 0) worker_came = true;
  };
  // The worker is inside a chunk long after the caller has done everything else.
  pool.run(100, 1, [&](uint32_t, uint32_t) {
    while (!worker_came) {
      if (thread_index() == 0) continue;
      worker_came = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
  });
  worker_came = false;
  pool.run(1000, 1, any_chunk);
  CHECK_FALSE(worker_came);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!worker_came && std::chrono::steady_clock::now() < end) pool.run(1000, 1, any_chunk);
  CHECK(worker_came);
}

TEST_CASE("a worker that works more than it is waited for is not left out") {
  using std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;
  if (ThreadPool(2).n_threads() < 2) {
    MESSAGE("SKIPPED: this build has no threads, so no worker comes late");
    return;
  }
  // A machine that is busy with other programs may keep the worker for longer than it has worked.
  for (int attempt = 0; attempt < 20; ++attempt) {
    ThreadPool pool(2);
    std::atomic<int> n_by_worker = 0;
    for (int job = 0; job < 5 && n_by_worker < 6; ++job) {
      pool.run(12, 1, [&](uint32_t, uint32_t) {
        std::this_thread::sleep_for(milliseconds(20));
        if (thread_index() > 0) ++n_by_worker;
      });
    }
    std::atomic<bool> worker_came = false;
    const Clock::time_point begin = Clock::now();
    pool.run(100, 1, [&](uint32_t, uint32_t) {
      while (!worker_came && Clock::now() - begin < milliseconds(30)) {
        if (thread_index() == 0) continue;
        worker_came = true;
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
    if (n_by_worker < 6 || !worker_came || Clock::now() - begin > milliseconds(30)) continue;
    // A caller alone does everything at once.
    std::atomic<bool> alone = false;
    pool.run(100, 1, [&](uint32_t begin_of, uint32_t end) { alone = end - begin_of == 100; });
    CHECK_FALSE(alone);
    return;
  }
  MESSAGE("SKIPPED: the machine is too busy for a worker to be late by a few milliseconds only");
}

TEST_CASE("there is at least one physical core and a pool of 0 threads has that many") {
  CHECK(n_physical_cores() >= 1);
  CHECK(ThreadPool(0).n_threads() == n_physical_cores());
}

}  // namespace
}  // namespace puna::base
