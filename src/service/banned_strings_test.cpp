#include "service/banned_strings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tokenizer/test_vocabulary.h"

using namespace puna;
using service::BannedStrings;

namespace {

// Bytes, and "th", "the", "an", "and".
std::unique_ptr<tokenizer::Tokenizer> words() {
  auto made = tokenizer::Tokenizer::create(
      tokenizer::byte_level_vocabulary({"t h", "th e", "a n", "an d"}));
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *std::move(made);
}

std::shared_ptr<BannedStrings> ban(const tokenizer::Tokenizer& tokenizer,
                                   std::vector<std::string> strings) {
  auto made = BannedStrings::create(tokenizer, static_cast<uint32_t>(tokenizer.n_tokens()),
                                    std::move(strings));
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *std::move(made);
}

bool may(engine::TokenFilter& filter, int32_t id) {
  const auto at = static_cast<size_t>(id);
  return (*filter.allowed())[at / 32] >> at % 32 & 1;
}

}  // namespace

TEST_CASE("a token is forbidden where it would complete a banned string") {
  const auto tokenizer = words();
  const auto filter = ban(*tokenizer, {"xthe", "d!"});
  const auto id = [&](const char* text) { return tokenizer->encode(text).at(0); };
  CHECK(may(*filter, id("the")));
  filter->take(id("x"));
  CHECK_FALSE(may(*filter, id("the")));
  CHECK(may(*filter, id("th")));
  const auto other = filter->fork();
  filter->take(id("th"));
  CHECK_FALSE(may(*filter, id("e")));
  CHECK(may(*other, id("e")));  // the other text has no "th" yet
  filter->take(id("and"));
  CHECK(may(*filter, id("e")));
  CHECK_FALSE(may(*filter, id("!")));
  filter->undo(1);
  CHECK_FALSE(may(*filter, id("e")));
  CHECK(may(*filter, id("!")));
  CHECK_FALSE(may(*ban(*tokenizer, {"h"}), id("the")));  // it holds one itself
}

TEST_CASE("whatever is chosen of what is allowed, the text holds no banned string") {
  const auto tokenizer = words();
  std::mt19937 random(3);
  const std::vector<std::string> banned = {"aba", "bab", "thea", "bb", "athe"};
  const std::vector<int32_t> ids = {tokenizer->encode("a").at(0), tokenizer->encode("b").at(0),
                                    tokenizer->encode("the").at(0), tokenizer->encode("th").at(0)};
  for (int i = 0; i < 200; ++i) {
    const auto filter = ban(*tokenizer, banned);
    std::string text;
    size_t n_forbidden = 0;
    for (int n = 0; n < 40; ++n) {
      const int32_t id = ids[random() % ids.size()];
      const std::string with = text + tokenizer->bytes(id);
      const bool holds = std::ranges::any_of(
          banned, [&](const std::string& s) { return with.find(s) != std::string::npos; });
      REQUIRE(may(*filter, id) == !holds);
      n_forbidden += holds;
      if (holds) continue;
      text = with;
      filter->take(id);
    }
    CHECK(n_forbidden > 0);
  }
}

TEST_CASE("strings that cannot be banned are refused") {
  const auto tokenizer = words();
  const auto refusal = [&](std::vector<std::string> strings) {
    return BannedStrings::create(*tokenizer, 300, std::move(strings)).error().message;
  };
  CHECK(refusal({""}) == "A banned string has 0 bytes, but 1 to 256 are expected.");
  CHECK(refusal({std::string(257, 'a')}) ==
        "A banned string has 257 bytes, but 1 to 256 are expected.");
  CHECK(refusal(std::vector<std::string>(257, "a")) ==
        "257 strings are banned, but at most 256 can be.");
}
