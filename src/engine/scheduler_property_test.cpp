// The scheduler over an executor without a model: texts that come, are held, cancelled and fail in
// any order end, get the tokens that they get alone, and leave no page behind.
#include <random>

#include "engine/testing/scheduler_texts.h"

using namespace puna;
using namespace puna::engine;
using namespace puna::engine::test;

namespace {

// Texts by the dozen: their beginnings from a few, of any length that fits.
void run_at_random(Setup setup, uint32_t seed, bool may_fail) {
  CAPTURE(seed);
  setup.begins_ahead = seed % 2 == 1;
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Fixture fixture(setup);
  constexpr size_t kTexts = 60;
  std::deque<ScheduledText> texts;
  size_t n_jobs = 0, n_jobs_done = 0;
  for (uint64_t rounds = 0;; ++rounds) {
    REQUIRE(rounds < 200'000);
    if (texts.size() < kTexts && below(4) == 0) {
      ScheduledText& text = texts.emplace_back();
      text.prompt = prompt(1 + below(setup.context - 20), below(3));
      text.rules = rules_of(below(12));
      begin(fixture, text, below(12) == 0 ? 0 : 1 + below(40));
    }
    if (!texts.empty() && below(8) == 0) {
      ScheduledText& text = texts[below(static_cast<uint32_t>(texts.size()))];
      if (below(10) == 0) text.control->cancel = true;
      text.control->hold = below(3) == 0;
      fixture.scheduler->wake();
    }
    if (below(50) == 0) {
      ++n_jobs;
      base::deliver<base::Result<void>>(
          // Of two texts at once, where there are two sequences.
          fixture.scheduler->alone(
              std::vector<uint32_t>(std::min<size_t>(2, fixture.model->cache().n_sequences()), 20),
              [&](Scheduler::Sequences sequences) -> base::Task<base::Result<void>> {
                for (const uint32_t sequence : sequences) {
                  CHECK(fixture.model->cache().n_tokens(sequence) == 0);
                  PUNA_CO_TRY(co_await fixture.model->prefill(sequence, prompt(20, 9)));
                }
                co_return {};
              }),
          [&](base::Result<void> done) {
            ++n_jobs_done;
            CHECK((may_fail || done.has_value()));
          });
    }
    const bool went_on = fixture.device->pump();
    if (texts.size() < kTexts || went_on) continue;
    // All that is left are texts whose readers are behind.
    bool all_ended = true;
    for (ScheduledText& text : texts) {
      text.control->hold = false;
      all_ended = all_ended && text.result.has_value();
    }
    if (all_ended) break;
    fixture.scheduler->wake();
  }
  fixture.finish();
  CHECK(n_jobs_done == n_jobs);
  size_t n_failed = 0;
  for (const ScheduledText& text : texts) {
    const auto expected =
        continued(text.prompt, text.tokens.size(), text.rules.value_or(TestFilter::Rules()));
    REQUIRE(text.tokens == expected);
    if (!text.result->has_value() &&
        text.result->error().code == base::ErrorCode::kInvalidArgument) {
      CHECK(text.tokens.size() == 5);
      CHECK((text.rules && !text.rules->forces && text.rules->complete == SIZE_MAX));
      continue;
    }
    if (!text.result->has_value()) {
      CHECK_MESSAGE(text.result->error().code == base::ErrorCode::kDevice,
                    text.result->error().text());
      ++n_failed;
      continue;
    }
    const GenerateStats& stats = **text.result;
    CHECK(stats.n_generated == text.tokens.size());
    if (text.rules && text.rules->most == text.tokens.size())
      CHECK((stats.stop == StopReason::kEnd || stats.stop == StopReason::kLength));
    // All of it was forced: nothing had to be read.
    if (text.rules && text.rules->forces && stats.n_generated <= 6) continue;
    CHECK(stats.n_prompt + stats.n_cached ==
          (text.control->cancel && stats.n_prompt == 0 ? stats.n_cached : text.prompt.size()));
    if (!text.control->cancel) CHECK(stats.stop != StopReason::kCancelled);
  }
  if (!may_fail) CHECK(n_failed == 0);
  check_nothing_is_held(fixture);
}
}  // namespace

TEST_CASE("any texts, held and cancelled in any order, end with the tokens they get alone") {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    for (const bool recurrent : {false, true}) {
      CAPTURE(recurrent);
      run_at_random({.n_pages = 64, .recurrent = recurrent}, seed, false);
      // Where two texts fill the cache, they give way to each other.
      run_at_random({.n_pages = 16, .recurrent = recurrent}, seed, false);
      run_at_random({.n_pages = 8, .recurrent = recurrent}, seed, false);
      run_at_random({.n_pages = 12, .recurrent = recurrent, .host_cache_bytes = 4000}, seed, false);
      // Layers with windows have fewer pages than texts have tokens, or just those of one text.
      for (const uint32_t window : {1u, 30u, 64u, 100u}) {
        CAPTURE(window);
        run_at_random(
            {.n_pages = 64, .recurrent = recurrent, .n_window_pages = 20, .window = window}, seed,
            false);
        run_at_random({.n_pages = 24,
                       .recurrent = recurrent,
                       .n_window_pages = 9,
                       .window = window,
                       .host_cache_bytes = 4000},
                      seed, false);
      }
    }
  }
}

TEST_CASE("texts of many windows that run at once have those of what they need, and no more") {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    for (const uint32_t window : {40u, 128u}) {
      CAPTURE(window);
      const uint32_t least = engine::n_window_pages_at_once(window);
      for (const uint32_t n_window_pages : {least, least + 10, 3 * least}) {
        CAPTURE(n_window_pages);
        const Setup setup{.n_sequences = 4,
                          .context = 1536,
                          .n_pages = 120,
                          .n_window_pages = n_window_pages,
                          .window = window};
        run_at_random(setup, seed, false);
        Setup with_host = setup;
        with_host.n_pages = 60;
        with_host.host_cache_bytes = 20'000;
        run_at_random(with_host, seed, false);
      }
    }
  }
}

TEST_CASE("a device that fails now and then takes the texts of that step with it, and no more") {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const auto fails = [&] { return random() % 40 == 0; };
    run_at_random({.n_pages = 24, .fails = fails}, seed, true);
    run_at_random({.n_pages = 24,
                   .n_window_pages = 9,
                   .window = 64,
                   .host_cache_bytes = 4000,
                   .fails = fails},
                  seed, true);
  }
}

TEST_CASE("prompts are read in large steps where these are filled and known to be short") {
  const auto largest = [](std::vector<size_t> prompts, double ms_per_token) {
    Fixture fixture({.n_sequences = 4, .context = 8192, .n_pages = 1024, .step_tokens = 2048});
    for (int i = 0; i < 2000; ++i) fixture.model->budget().read(1000, 1000 * ms_per_token);
    std::vector<ScheduledText> texts(prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      texts[i].prompt = prompt(prompts[i], static_cast<uint32_t>(i));
      begin(fixture, texts[i], 10);
    }
    fixture.finish();
    for (const ScheduledText& text : texts) CHECK(text.tokens == continued(text.prompt, 10));
    check_nothing_is_held(fixture);
    return fixture.device->most_rows();
  };
  CHECK(largest({5000}, 0.01) == 2048);
  CHECK(largest({1100}, 0.01) == 1100);
  CHECK(largest({1000}, 0.01) == 512);
  CHECK(largest({700, 600, 500}, 0.01) == 188 + 600 + 500);  // behind a first step of 512
  CHECK(largest({2000}, 0.2) == 1496);                       // 300 ms, in eights
  CHECK(largest({1030}, 1) == 512);
  const Fixture unknown({.context = 8192, .n_pages = 1024, .step_tokens = 2048});
  CHECK(unknown.model->step_tokens(5000) == 512);
}

TEST_CASE("a chat of many turns evaluates what is new of each, and a page or a state more") {
  for (const bool recurrent : {false, true}) {
    CAPTURE(recurrent);
    Fixture fixture({.n_sequences = 2, .context = 2048, .n_pages = 80, .recurrent = recurrent});
    std::vector<int32_t> chat = prompt(70, 1);
    for (uint32_t turn = 0; turn < 20; ++turn) {
      CAPTURE(turn);
      ScheduledText text;
      text.prompt = chat;
      const uint64_t before = fixture.device->n_tokens();
      begin(fixture, text, 30);
      fixture.finish();
      REQUIRE(text.result);
      CHECK(text.tokens == continued(chat, 30));
      const uint64_t evaluated = fixture.device->n_tokens() - before;
      // The message of 25 tokens, the last token of the answer before, and this answer.
      if (turn > 0) CHECK(evaluated == 25 + 1 + 29);
      chat.insert(chat.end(), text.tokens.begin(), text.tokens.end());
      const auto message = prompt(25, 100 + turn);
      chat.insert(chat.end(), message.begin(), message.end());
    }
  }
}

TEST_CASE("texts that run at once share the pages of a beginning") {
  Fixture fixture({.n_sequences = 4, .context = 512, .n_pages = 100});
  const std::vector<int32_t> system = prompt(320, 5);
  std::deque<ScheduledText> texts;
  for (uint32_t i = 0; i < 4; ++i) {
    ScheduledText& text = texts.emplace_back();
    text.prompt = system;
    const auto own = prompt(20, 40 + i);
    text.prompt.insert(text.prompt.end(), own.begin(), own.end());
    begin(fixture, text, 100);
    for (int step = 0; step < 3; ++step) fixture.device->pump();
  }
  CHECK(fixture.scheduler->n_running() == 4);
  fixture.finish();
  // Ten pages of the system prompt, once, and four of each text for the 119 tokens behind it.
  CHECK(fixture.model->cache().prefixes().n_nodes() == 10 + 4 * 4);
  for (const ScheduledText& text : texts) {
    CHECK(text.tokens == continued(text.prompt, 100));
  }
  CHECK((*texts[3].result)->n_cached == 320);
  check_nothing_is_held(fixture);
}

TEST_CASE("texts that come at the same moment and begin alike read the beginning once") {
  for (const bool recurrent : {false, true}) {
    CAPTURE(recurrent);
    Fixture fixture({.n_sequences = 6, .context = 2048, .n_pages = 400, .recurrent = recurrent});
    const std::vector<int32_t> system = prompt(1000, 5), longer = prompt(1400, 5);
    std::deque<ScheduledText> texts;
    for (uint32_t i = 0; i < 6; ++i) {
      ScheduledText& text = texts.emplace_back();
      text.prompt = i < 4 ? system : longer;
      if (i == 3) text.prompt = prompt(700, 6);  // begins otherwise, and waits for nobody
      const auto own = prompt(20, 40 + i);
      text.prompt.insert(text.prompt.end(), own.begin(), own.end());
      begin(fixture, text, 10);
    }
    fixture.finish();
    for (const ScheduledText& text : texts) CHECK(text.tokens == continued(text.prompt, 10));
    // The two beginnings and what the longer ones go on with, less than a page where they part,
    // and of each text its own end and answer.
    const uint64_t beginnings = 1000 + 400 + 700;
    CHECK(fixture.device->n_tokens() < beginnings + 6 * (20 + 10 + kernels::kPageTokens));
    check_nothing_is_held(fixture);
  }
}

TEST_CASE("a text does not wait for one with the same beginning that is held or cancelled") {
  Fixture fixture({.n_sequences = 3, .context = 2048, .n_pages = 200});
  ScheduledText held, behind, cancelled, also_behind;
  held.prompt = behind.prompt = prompt(1500, 1);
  cancelled.prompt = also_behind.prompt = prompt(1500, 2);
  for (ScheduledText* text : {&held, &behind, &cancelled, &also_behind}) begin(fixture, *text, 5);
  fixture.device->pump();
  held.control->hold = true;
  cancelled.control->cancel = true;
  fixture.scheduler->wake();
  while (fixture.device->pump()) {
  }
  CHECK_FALSE(held.result);
  CHECK(behind.tokens == continued(behind.prompt, 5));
  CHECK(also_behind.tokens == continued(also_behind.prompt, 5));
  held.control->hold = false;
  fixture.scheduler->wake();
  fixture.finish();
  CHECK(held.tokens == continued(held.prompt, 5));
  check_nothing_is_held(fixture);
}

TEST_CASE("what lies behind windows goes first, and a text goes on where its last window is") {
  constexpr uint32_t kWindow = 64;
  // Of layers with windows: what one text needs at once, and four pages more.
  Fixture fixture({.n_sequences = 2,
                   .context = 4096,
                   .n_pages = 300,
                   .n_window_pages = engine::n_window_pages_at_once(kWindow) + 4,
                   .window = kWindow});
  const auto ask = [&](const std::vector<int32_t>& tokens) {
    ScheduledText text;
    text.prompt = tokens;
    begin(fixture, text, 10);
    fixture.finish();
    CHECK(text.tokens == continued(tokens, 10));
    return **text.result;
  };
  // A long text goes through, though it has far more pages than that, and a chat goes on at its
  // end.
  std::vector<int32_t> chat = prompt(2000, 1);
  ask(chat);
  CHECK(fixture.model->cache().windows().n_free() == 0);
  CHECK(fixture.model->cache().prefixes().n_nodes() == 63);  // the other layers have all of it
  CHECK(fixture.model->cache().n_free() == 300 - 63);
  for (uint32_t turn = 0; turn < 5; ++turn) {
    const auto answer = continued(chat, 10);
    chat.insert(chat.end(), answer.begin(), answer.end());
    const size_t n_known = chat.size() - 1;
    const auto message = prompt(20, 100 + turn);
    chat.insert(chat.end(), message.begin(), message.end());
    CHECK(ask(chat).n_cached == n_known);
  }
  // One that parts from it early has to read from the beginning: windows before it are gone.
  std::vector<int32_t> other(chat.begin(), chat.begin() + 400);
  other.push_back(7);
  CHECK(ask(other).n_cached == 0);
  CHECK(ask(other).n_cached >= 400);
  check_nothing_is_held(fixture);
}

TEST_CASE("a long text gives up what lies behind its own windows before the ends of others") {
  constexpr uint32_t kWindow = 64;
  Fixture fixture({.n_sequences = 2,
                   .context = 4096,
                   .n_pages = 600,
                   .n_window_pages = engine::n_window_pages_at_once(kWindow) + 12,
                   .window = kWindow});
  const auto ask = [&](const std::vector<int32_t>& tokens) {
    ScheduledText text;
    text.prompt = tokens;
    begin(fixture, text, 10);
    fixture.finish();
    CHECK(text.tokens == continued(tokens, 10));
    return (**text.result).n_cached;
  };
  // Three chats, then a text that alone has far more pages than there are.
  for (uint32_t chat = 1; chat <= 3; ++chat) ask(prompt(300, chat));
  ask(prompt(3000, 9));
  for (uint32_t chat = 1; chat <= 3; ++chat) {
    std::vector<int32_t> next = prompt(300, chat);
    const auto answer = continued(next, 10);
    next.insert(next.end(), answer.begin(), answer.end());
    CHECK(ask(next) == next.size() - 1);
  }
  check_nothing_is_held(fixture);
}

TEST_CASE(
    "where texts part, the second one computes the window that is gone, and the third has it") {
  constexpr uint32_t kWindow = 64;
  Fixture fixture({.n_sequences = 2,
                   .context = 4096,
                   .n_pages = 600,
                   .n_window_pages = engine::n_window_pages_at_once(kWindow) + 8,
                   .window = kWindow});
  const std::vector<int32_t> system = prompt(650, 1);
  const auto ask = [&](uint32_t seed) {
    ScheduledText text;
    text.prompt = system;
    const auto own = prompt(1500, seed);
    text.prompt.insert(text.prompt.end(), own.begin(), own.end());
    begin(fixture, text, 10);
    fixture.finish();
    CHECK(text.tokens == continued(text.prompt, 10));
    return (**text.result).n_cached;
  };
  CHECK(ask(20) == 0);
  CHECK(ask(31) == 0);
  CHECK(ask(42) == 640);
  CHECK(ask(53) == 640);
  check_nothing_is_held(fixture);
}

TEST_CASE(
    "where texts need all pages of windows, the next one is told so, and nothing goes for it") {
  Fixture fixture({.n_sequences = 2, .n_pages = 16, .n_window_pages = 4, .window = 64});
  engine::TextCache& cache = fixture.model->cache();
  const auto prefill = [&](uint32_t sequence, size_t n) {
    std::optional<base::Result<void>> out;
    base::deliver<base::Result<void>>(fixture.model->prefill(sequence, prompt(n, sequence)),
                                      [&](base::Result<void> done) { out = std::move(done); });
    fixture.finish();
    return *out;
  };
  REQUIRE(prefill(1, 100));
  REQUIRE(cache.end(1));
  REQUIRE(prefill(0, 96));
  CHECK(cache.windows().n_needed() == 2);
  const uint32_t n_free = cache.n_free(), n_nodes = cache.prefixes().n_nodes();
  const auto refused = prefill(1, 128);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kOutOfMemory);
  CHECK(refused.error().message ==
        "The cache is full: the texts under way need all of its 4 pages of layers with windows.");
  CHECK(cache.n_tokens(1) == 0);
  CHECK(cache.n_free() == n_free);
  CHECK(cache.prefixes().n_nodes() == n_nodes);
  REQUIRE(prefill(1, 64));
  for (const uint32_t sequence : {0u, 1u}) cache.forget(sequence);
  check_nothing_is_held(fixture);
}

TEST_CASE("while texts are written, prompts are read in pieces that fit beside them") {
  Fixture fixture({.n_sequences = 4, .context = 4096, .n_pages = 256});
  ScheduledText first, long_one, short_one;
  first.prompt = prompt(3, 1);
  begin(fixture, first, 400);
  for (int i = 0; i < 4; ++i) fixture.device->pump();
  long_one.prompt = prompt(2000, 2);
  short_one.prompt = prompt(5, 3);
  begin(fixture, long_one, 1);
  begin(fixture, short_one, 3);
  size_t written = first.tokens.size();
  for (int i = 0; i < 30; ++i) {
    // 10 ms a token: 8 tokens in the 100 ms of a step.
    for (int k = 0; k < 20; ++k) fixture.model->budget().read(8, 80);
    fixture.device->pump();
    // Every step has a token for the text that is being written.
    CHECK(first.tokens.size() == ++written);
  }
  CHECK(short_one.result);  // it does not wait for the long one
  CHECK_FALSE(long_one.result);
  fixture.finish();
  CHECK(long_one.tokens == continued(long_one.prompt, 1));
}
