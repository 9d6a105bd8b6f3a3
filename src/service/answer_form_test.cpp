#include "service/answer_form.h"

#include <doctest/doctest.h>

#include "service/prepare.h"
#include "service/respond.h"
#include "service/testing/scripted_model.h"

using namespace puna;
using service::AnswerForm;
using Kind = AnswerForm::Kind;
using Ids = std::vector<int32_t>;

namespace {

constexpr int32_t kEnd = 1, kSure = 2, kCall = 3, kName = 4, kA = 8, kOpen = 20, kClose = 21;

const service::LoadedModel& model() {
  static const service::LoadedModel kModel = service::test::scripted_model();
  return kModel;
}

chat::ReplyStyle style(std::string_view thinking, std::string_view begins = {},
                       std::string_view begins_behind = {}) {
  chat::ReplyStyle out = chat::reply_style("");
  out.thinking = thinking;
  out.answer_begins = begins;
  out.answer_begins_behind = begins_behind;
  return out;
}

std::shared_ptr<engine::TokenFilter> filter(const AnswerForm& form,
                                            const chat::ReplyStyle* of = nullptr,
                                            bool thinking_open = false) {
  auto made = model().forms->filter(form, of, thinking_open);
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *made;
}

// The ids that are allowed.
Ids allowed(engine::TokenFilter& filter) {
  const auto bits = filter.allowed();
  REQUIRE(bits.has_value());
  REQUIRE(bits->size() == engine::filter_words(service::test::kWide));
  Ids out;
  for (uint32_t id = 0; id < service::test::kWide; ++id) {
    if (((*bits)[id / 32] >> id % 32 & 1) != 0) out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

const AnswerForm kTwoA = {.kind = Kind::kRegex, .text = "a{2}|Sure\\.a"};

}  // namespace

TEST_CASE("an answer keeps to its form from its first token to its last") {
  const auto text = filter(kTwoA);
  CHECK(allowed(*text) == Ids{kSure, kA});
  CHECK_FALSE(text->may_end());
  text->take(kSure);
  CHECK(text->forced() == Ids{kA});
  text->take(kA);
  CHECK(text->done());
  CHECK(allowed(*text) == Ids{kEnd});
  text->undo(2);
  CHECK(allowed(*text) == Ids{kSure, kA});
}

TEST_CASE("forms are schemas, grammars and regular expressions") {
  const auto schema = filter({.kind = Kind::kSchema, .text = R"({"const": {"name": "weather"}})"});
  CHECK(allowed(*schema) == Ids{});  // no token is a brace alone
  CHECK(allowed(*filter({.kind = Kind::kGrammar,
                         .text = R"(root ::= "a" root | "<tool_call>")"})) == Ids{kCall, kA});
  const auto refused = [](const AnswerForm& form) {
    const auto made = model().forms->filter(form, nullptr, false);
    REQUIRE_FALSE(made.has_value());
    return made.error();
  };
  CHECK(refused({.kind = Kind::kSchema, .text = R"({"type": "thing"})"}).code ==
        base::ErrorCode::kInvalidArgument);
  CHECK(refused({.kind = Kind::kGrammar, .text = "root ::= x"}).code ==
        base::ErrorCode::kInvalidArgument);
  CHECK(refused({.kind = Kind::kRegex, .text = "(?=a)a"}).code == base::ErrorCode::kUnsupported);
}

TEST_CASE("thinking is free, may be left out, and does not end the text") {
  const chat::ReplyStyle thinks = style("<|20|>…<|21|>");
  const auto text = filter(kTwoA, &thinks);
  CHECK(allowed(*text) == Ids{kSure, kA, kOpen});
  const auto other = text->fork();
  other->take(kA);
  CHECK(other->forced() == Ids{kA});
  CHECK(allowed(*text) == Ids{kSure, kA, kOpen});
  text->take(kOpen);
  CHECK(text->forced().empty());
  Ids all = allowed(*text);
  CHECK(all.size() == service::test::kWide - 1);
  CHECK(std::ranges::find(all, kEnd) == all.end());
  for (const int32_t id : {kName, kCall, kSure, kClose}) text->take(id);
  CHECK(allowed(*text) == Ids{kSure, kA});
  text->undo(1);
  CHECK(allowed(*text) == all);
  text->take(kClose);
  text->take(kA);
  CHECK_FALSE(text->may_end());
  text->take(kA);
  CHECK(text->may_end());
  CHECK(text->done());
}

TEST_CASE("thinking that the prompt has begun ends before the form begins") {
  const chat::ReplyStyle thinks = style("<|20|>…<|21|>");
  const auto text = filter(kTwoA, &thinks, /*thinking_open=*/true);
  CHECK(allowed(*text).size() == service::test::kWide - 1);
  text->take(kA);
  text->take(kClose);
  CHECK(allowed(*text) == Ids{kSure, kA});
}

TEST_CASE("marks of a family stand before the answer, with thinking and without") {
  const chat::ReplyStyle framed =
      style("<|30|><|31|>…<|21|>", "<|30|><|32|>", "<|33|><|30|><|32|>");
  const auto text = filter(kTwoA, &framed);
  CHECK(text->forced() == Ids{30});
  CHECK(allowed(*text) == Ids{30});
  text->take(30);
  CHECK(text->forced().empty());
  CHECK(allowed(*text) == Ids{31, 32});
  const auto other = text->fork();
  other->take(32);
  CHECK(allowed(*other) == Ids{kSure, kA});
  text->take(31);
  text->take(kName);
  text->take(kClose);
  for (const int32_t id : {33, 30, 32}) {
    CHECK(text->forced() == Ids{id});
    CHECK(allowed(*text) == Ids{id});
    text->take(id);
  }
  CHECK(allowed(*text) == Ids{kSure, kA});
  text->undo(4);
  text->take(kClose);
  CHECK(text->forced() == Ids{33});
}

TEST_CASE("a request gets an answer in its form") {
  service::LoadedModel own = service::test::scripted_model();
  service::Request request;
  request.tokens = {0};
  request.sampling.temperature = 0;
  request.form = AnswerForm{.kind = Kind::kRegex, .text = "(a|Sure\\.){3}"};
  auto prepared = service::prepare(own, std::move(request));
  REQUIRE_MESSAGE(prepared.has_value(), prepared.error().text());
  const auto filter = prepared->filter;
  REQUIRE(filter);
  filter->take(kSure);
  CHECK(allowed(*filter) == Ids{kSure, kA});
}
