// Texts under filters: what these force and allow, one by one and in chains.
#include "engine/testing/scheduler_texts.h"

using namespace puna;
using namespace puna::engine;
using namespace puna::engine::test;

TEST_CASE("what a filter forces is read in one step, and what it allows is asked for before each") {
  Fixture fixture({.n_sequences = 2});
  ScheduledText text;
  text.prompt = prompt(10, 1);
  text.rules = {.vocab = kVocab, .allows = {}, .forces = {}};
  text.rules->forces = [](std::span<const int32_t> written) {
    return written.size() == 2 ? prompt(40, 7) : std::vector<int32_t>();
  };
  begin(fixture, text, 50);
  int n_steps = 0;
  while (fixture.device->pump()) ++n_steps;
  CHECK(text.tokens == continued(text.prompt, 50, *text.rules));
  CHECK(text.tokens.size() == 50);
  CHECK(n_steps == 2 + 8);  // two tokens before the forced ones, eight behind
}

TEST_CASE("where probabilities are asked for, each token that a filter forces has a step") {
  Fixture fixture({.n_sequences = 2});
  ScheduledText text;
  text.prompt = prompt(10, 1);
  text.n_probs = 1;
  text.rules = {.vocab = kVocab, .allows = {}, .forces = {}};
  text.rules->forces = [](std::span<const int32_t> written) {
    return written.size() < 8 ? prompt(8, 7) : std::vector<int32_t>();  // from its beginning on
  };
  begin(fixture, text, 20);
  int n_steps = 0;
  while (fixture.device->pump()) ++n_steps;
  CHECK(text.tokens == continued(text.prompt, 20, *text.rules));
  CHECK(n_steps == 20);
  CHECK((*text.result)->n_prompt == 10);
}

TEST_CASE("a text that is forced to its end has read nothing, and says how long its prompt is") {
  Fixture fixture({.n_sequences = 2});
  ScheduledText text;
  text.prompt = prompt(10, 1);
  text.rules = {.vocab = kVocab, .allows = {}, .forces = {}};
  text.rules->forces = [](std::span<const int32_t>) { return prompt(8, 7); };
  begin(fixture, text, 5);
  fixture.finish();
  CHECK(text.tokens.size() == 5);
  const GenerateStats& stats = **text.result;
  CHECK(stats.n_prompt + stats.n_cached == 0);
  CHECK(stats.prompt_tokens() == 10);
}

TEST_CASE("beside others, short runs that a filter forces are written at their pace") {
  for (const size_t n_forced : {3u, 4u}) {
    CAPTURE(n_forced);
    Fixture fixture({.n_sequences = 8, .begins_ahead = true});
    std::deque<ScheduledText> texts(8);
    for (uint32_t i = 0; i < texts.size(); ++i) {
      texts[i].prompt = prompt(10 + i, i);
      texts[i].rules = {.vocab = kVocab, .allows = {}, .forces = {}};
      texts[i].rules->forces = [=](std::span<const int32_t> written) {
        return written.size() % 16 == 2 + i ? prompt(n_forced, 7) : std::vector<int32_t>();
      };
      begin(fixture, texts[i], 60);
    }
    fixture.finish();
    for (const ScheduledText& text : texts)
      CHECK(text.tokens == continued(text.prompt, 60, *text.rules));
    // The prompts, and those that begin later; what is forced ends no chain, or many of them.
    CHECK(fixture.device->n_chains() < (n_forced == 3 ? 12 : 60));
    if (n_forced == 4) CHECK(fixture.device->n_chains() > 20);
  }
}

TEST_CASE("a text whose others have ended takes in one step what is left of a forced run") {
  Fixture fixture({.n_sequences = 8, .begins_ahead = true});
  std::deque<ScheduledText> texts(8);
  for (uint32_t i = 0; i < texts.size(); ++i) {
    texts[i].prompt = prompt(10, i);
    if (i == 0) {
      texts[i].rules = {.vocab = kVocab, .allows = {}, .forces = {}};
      texts[i].rules->forces = [](std::span<const int32_t> written) {
        return written.size() == 4 ? prompt(3, 7) : std::vector<int32_t>();
      };
    }
    begin(fixture, texts[i], i == 0 ? 40 : 5);
  }
  fixture.finish();
  for (const ScheduledText& text : texts) {
    const auto rules = text.rules.value_or(TestFilter::Rules());
    CHECK(text.tokens == continued(text.prompt, text.tokens.size(), rules));
  }
  CHECK(texts[0].tokens.size() == 40);
}

TEST_CASE("texts whose filters allow the same for long are written in long chains, as without") {
  Fixture fixture({.n_sequences = 4, .context = 1024, .n_pages = 128});
  std::deque<ScheduledText> texts(4);
  for (uint32_t i = 0; i < texts.size(); ++i) {
    texts[i].prompt = prompt(10 + i, i);
    if (i == 3) continue;  // has none
    texts[i].rules = {.vocab = kVocab, .allows = {}, .forces = {}};
    texts[i].rules->most = 400;
    // Of the second one, that changes twice; the first one lets all pass.
    if (i == 0) continue;
    texts[i].rules->allows = [i](std::span<const int32_t> text, int32_t id) {
      return i == 2 || id % 3 != static_cast<int32_t>(text.size() / 150);
    };
  }
  for (ScheduledText& text : texts) begin(fixture, text, 400);
  fixture.finish();
  for (const ScheduledText& text : texts) {
    CHECK(text.tokens.size() == 400);
    CHECK(text.tokens == continued(text.prompt, 400, text.rules.value_or(TestFilter::Rules())));
  }
  // Each filter is watched for some tokens, at the beginning and when it has changed.
  CHECK(fixture.device->n_chains() < 80);
}

TEST_CASE("filters that change with each token go on in one chain") {
  for (const uint32_t n_texts : {1u, 3u}) {
    Fixture fixture({.n_sequences = n_texts});
    std::deque<ScheduledText> texts(n_texts);
    for (uint32_t i = 0; i < n_texts; ++i) {
      texts[i].prompt = prompt(10, i);
      if (i < 2) texts[i].rules = rules_of(0);
      begin(fixture, texts[i], 50);
    }
    fixture.finish();
    for (const ScheduledText& text : texts)
      CHECK(text.tokens == continued(text.prompt, 50, text.rules.value_or(TestFilter::Rules())));
    // A prompt, or those that came meanwhile; what is written until the first text ends, and on.
    CHECK(fixture.device->n_chains() <= (n_texts == 1 ? 2 : 4));
  }
}

TEST_CASE("a filter that allows nothing, or is of another vocabulary, is an error of its text") {
  Fixture fixture({.n_sequences = 3});
  ScheduledText nothing, why, other, free;
  nothing.prompt = why.prompt = other.prompt = free.prompt = prompt(10, 1);
  nothing.rules = {.vocab = kVocab, .allows = {}, .forces = {}};
  nothing.rules->allows = [](std::span<const int32_t> text, int32_t) { return text.size() < 3; };
  why.rules = nothing.rules;
  why.rules->error.emplace(base::ErrorCode::kInvalidArgument, "That is too much.");
  other.rules = {.vocab = 500, .allows = {}, .forces = {}};
  other.rules->allows = [](std::span<const int32_t>, int32_t) { return true; };
  for (ScheduledText* text : {&nothing, &why, &other, &free}) begin(fixture, *text, 20);
  fixture.finish();
  CHECK(nothing.tokens.size() == 3);
  CHECK(nothing.result->error().message ==
        "The filter of the text allows no token at position 13, where the text may not end.");
  CHECK(why.tokens.size() == 3);
  CHECK(why.result->error().message == "That is too much.");
  CHECK(other.result->error().message ==
        "The filter of the text has bits for 512 tokens, but the vocabulary has 1000.");
  CHECK(free.tokens == continued(free.prompt, 20));
  check_nothing_is_held(fixture);
}

TEST_CASE("what a filter and logit biases together leave nothing of is an error of its text") {
  Fixture fixture({.n_sequences = 4});
  ScheduledText none, one, done, all, free;
  none.rules = {.vocab = kVocab, .allows = {}, .forces = {}};
  none.rules->allows = [](std::span<const int32_t> text, int32_t id) {
    return text.size() < 2 ? id == 3 : id == 67 || id == 68;
  };
  one.rules = done.rules = none.rules;
  done.rules->complete = 2;
  none.ruled_out = done.ruled_out = {67, 5, 68};
  one.ruled_out = {67, 5};
  for (int32_t id = 0; id < static_cast<int32_t>(kVocab); ++id) all.ruled_out.push_back(id);
  for (ScheduledText* text : {&none, &one, &done, &all, &free}) {
    text->prompt = prompt(10, 1);
    begin(fixture, *text, 20);
  }
  fixture.finish();
  REQUIRE(!none.result->has_value());
  CHECK(none.result->error().code == base::ErrorCode::kInvalidArgument);
  CHECK(none.result->error().message ==
        "The filter of the text allows no token at position 12 but those that its logit biases "
        "rule out, where the text may not end.");
  CHECK(none.tokens == std::vector<int32_t>{3, 3});
  std::vector<int32_t> left(20, 68);
  left[0] = left[1] = 3;
  CHECK(one.tokens == left);
  REQUIRE(done.result->has_value());
  CHECK((*done.result)->stop == StopReason::kEnd);
  CHECK(done.tokens == none.tokens);
  REQUIRE(!all.result->has_value());
  CHECK(all.result->error().message ==
        "The logit biases of the text rule out all 1000 tokens of the vocabulary.");
  CHECK(free.tokens == continued(free.prompt, 20));
  check_nothing_is_held(fixture);
}

TEST_CASE("what a filter forces is written whatever its logit bias is, alone and beside others") {
  for (const uint32_t n_texts : {1u, 8u}) {
    CAPTURE(n_texts);
    Fixture fixture({.n_sequences = n_texts, .begins_ahead = true});
    std::deque<ScheduledText> texts(n_texts);
    for (uint32_t i = 0; i < n_texts; ++i) {
      texts[i].prompt = prompt(10, i);
      texts[i].rules = {.vocab = kVocab, .allows = {}, .forces = {}};
      texts[i].rules->forces = [](std::span<const int32_t> written) {
        return written.size() == 4 ? std::vector<int32_t>{7, 8, 9} : std::vector<int32_t>();
      };
      texts[i].ruled_out = {8};
      begin(fixture, texts[i], 8);
    }
    fixture.finish();
    for (const ScheduledText& text : texts) {
      REQUIRE(text.tokens.size() == 8);
      CHECK(std::vector(text.tokens.begin() + 4, text.tokens.begin() + 7) ==
            std::vector<int32_t>{7, 8, 9});
    }
  }
}

TEST_CASE(
    "where a filter often forces tokens, a text that is alone has a chain for each of its own") {
  Fixture fixture({.n_sequences = 2});
  ScheduledText alone, beside, other;
  for (ScheduledText* text : {&alone, &beside, &other}) {
    text->prompt = prompt(10, 1);
    text->rules = {.vocab = kVocab, .allows = {}, .forces = {}};
    text->rules->forces = [](std::span<const int32_t> written) {
      return written.size() % 4 == 2 ? prompt(2, 7) : std::vector<int32_t>();
    };
  }
  other.rules.reset();
  begin(fixture, alone, 80);
  fixture.finish();
  CHECK(alone.tokens == continued(alone.prompt, 80, *alone.rules));
  CHECK(fixture.device->n_chains() > 35);  // of 40 tokens that were not forced
  const uint32_t before = fixture.device->n_chains();
  begin(fixture, beside, 80);
  begin(fixture, other, 80);
  fixture.finish();
  CHECK(beside.tokens == alone.tokens);
  CHECK(other.tokens == continued(other.prompt, 80));
  // One that is forced costs the other nothing: it ends with the step that is under way.
  CHECK(fixture.device->n_chains() - before < 45);
}
