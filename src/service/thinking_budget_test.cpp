#include "service/thinking_budget.h"

#include <doctest/doctest.h>

#include "service/testing/scripted_model.h"

using namespace puna;
using service::ThinkingBudget;
using Ids = std::vector<int32_t>;

namespace {

constexpr int32_t kThink = 20, kEndThink = 21, kWord = 8, kOther = 2;  // of the scripted model

// Thinking between two control tokens.
std::shared_ptr<ThinkingBudget> budget(const ThinkingBudget::Options& options) {
  static const service::LoadedModel kModel = service::test::scripted_model();
  chat::ReplyStyle style = chat::reply_style("");
  style.thinking = "<|20|>…<|21|>";
  auto made = ThinkingBudget::create(*kModel.tokenizer, style, options, nullptr);
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *made;
}

}  // namespace

TEST_CASE("thinking is ended behind its last token, with the message before the mark") {
  const auto filter = budget({.n_tokens = 2, .message = "a"});
  for (const int32_t id : {kWord, kThink, kOther}) {
    CHECK(filter->forced().empty());
    filter->take(id);
  }
  CHECK(filter->forced().empty());
  filter->take(kWord);
  CHECK(filter->forced() == Ids{kWord, kEndThink});
  filter->take(kWord);
  CHECK(filter->forced() == Ids{kEndThink});
  filter->take(kEndThink);
  for (int i = 0; i < 5; ++i) {
    CHECK(filter->forced().empty());
    filter->take(kOther);
  }
  CHECK_FALSE(filter->allowed().has_value());
}

TEST_CASE("thinking that ends by itself is let be, and none is waited for that never begins") {
  const auto ends = budget({.n_tokens = 3});
  for (const int32_t id : {kThink, kWord, kEndThink, kWord, kWord, kWord, kWord}) {
    ends->take(id);
    CHECK(ends->forced().empty());
  }
  const auto never = budget({.n_tokens = 0});
  for (int i = 0; i < 5; ++i) {
    never->take(kWord);
    CHECK(never->forced().empty());
  }
  never->take(kThink);
  CHECK(never->forced() == Ids{kEndThink});
}

TEST_CASE("thinking that the prompt has begun counts from the first token on") {
  CHECK(budget({.n_tokens = 0, .open = true})->forced() == Ids{kEndThink});
  const auto filter = budget({.n_tokens = 1, .open = true});
  CHECK(filter->forced().empty());
  filter->take(kWord);
  CHECK(filter->forced() == Ids{kEndThink});
}

TEST_CASE("whoever ends thinking sees where the text is, and it ends behind the next token") {
  using Phase = service::ThinkingControl::Phase;
  const auto control = std::make_shared<service::ThinkingControl>();
  CHECK(control->phase == Phase::kNever);
  const auto filter = budget({.n_tokens = UINT32_MAX, .message = "a", .control = control});
  CHECK(control->phase == Phase::kNotBegun);
  filter->take(kThink);
  CHECK(control->phase == Phase::kThinking);
  control->end = true;
  CHECK(filter->forced().empty());
  filter->take(kOther);
  CHECK(filter->forced() == Ids{kWord, kEndThink});
  filter->take(kWord);
  CHECK(control->phase == Phase::kThinking);
  filter->take(kEndThink);
  CHECK(control->phase == Phase::kAnswering);
  CHECK(filter->forced().empty());
  filter->undo(2);
  CHECK(control->phase == Phase::kThinking);
  CHECK(filter->forced() == Ids{kWord, kEndThink});
}

TEST_CASE("thinking that is ended before it begins ends at once; a text that only speaks is seen") {
  using Phase = service::ThinkingControl::Phase;
  const auto control = std::make_shared<service::ThinkingControl>();
  const auto filter = budget({.n_tokens = UINT32_MAX, .control = control});
  control->end = true;
  filter->take(kThink);
  CHECK(filter->forced() == Ids{kEndThink});
  const auto speaks = std::make_shared<service::ThinkingControl>();
  const auto other = budget({.n_tokens = UINT32_MAX, .control = speaks});
  other->take(kWord);
  CHECK(speaks->phase == Phase::kAnswering);
  const auto open = std::make_shared<service::ThinkingControl>();
  budget({.n_tokens = UINT32_MAX, .open = true, .control = open});
  CHECK(open->phase == Phase::kThinking);
}

TEST_CASE("tokens are taken back, and a fork goes its own way") {
  const auto filter = budget({.n_tokens = 2});
  filter->take(kThink);
  filter->take(kWord);
  const auto fork = filter->fork();
  filter->take(kWord);
  CHECK(filter->forced() == Ids{kEndThink});
  CHECK(fork->forced().empty());
  filter->undo(2);
  CHECK(filter->forced().empty());
  filter->take(kWord);
  filter->take(kWord);
  CHECK(filter->forced() == Ids{kEndThink});
  fork->take(kEndThink);
  fork->take(kWord);
  CHECK(fork->forced().empty());
}

TEST_CASE("a message that is too long, and a mark without tokens, are refused") {
  static const service::LoadedModel kModel = service::test::scripted_model();
  const auto error_of = [&](size_t n_bytes) {
    const auto made = ThinkingBudget::create(*kModel.tokenizer, chat::reply_style("<think>"),
                                             {.message = std::string(n_bytes, 'x')}, nullptr);
    REQUIRE_FALSE(made.has_value());
    return made.error().code;
  };
  CHECK(error_of(service::kMaxThinkingMessage + 1) == base::ErrorCode::kInvalidArgument);
  // Neither has a token.
  CHECK(error_of(1) == base::ErrorCode::kUnsupported);
}
