#include "api/slot_table.h"

#include <doctest/doctest.h>

using namespace puna;
using api::SlotTable;
using Tokens = std::vector<int32_t>;

namespace {

Tokens tokens(int32_t first, int32_t n) {
  Tokens out;
  for (int32_t i = 0; i < n; ++i) out.push_back(first + i);
  return out;
}
Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

service::Reply reply(Tokens tokens) {
  service::Reply out;
  out.stats = {.n_prompt = 3,
               .n_cached = 7,
               .n_generated = static_cast<uint32_t>(tokens.size()),
               .prompt_ms = 0,
               .decode_ms = 0};
  out.tokens = std::move(tokens);
  return out;
}

// A text from its beginning to its end; gives its slot.
std::optional<uint32_t> write(SlotTable& table, const Tokens& prompt, const Tokens& answer) {
  const auto use = table.any();
  use->begin(prompt, {}, false);
  const auto slot = use->slot();
  use->end(reply(answer));
  return slot;
}

}  // namespace

TEST_CASE("a text takes the slot whose text it goes on with, else the one used longest ago") {
  const auto table = std::make_shared<SlotTable>(3);
  const Tokens a = tokens(0, 10), b = tokens(100, 10);
  CHECK(write(*table, a, {50}) == 0);
  CHECK(write(*table, b, {150}) == 1);
  CHECK(write(*table, a + Tokens{50, 51}, {}) == 0);
  // It begins like the first in no more than templates do.
  CHECK(write(*table, tokens(0, 1) + tokens(200, 9), {}) == 2);
  CHECK(write(*table, tokens(300, 10), {}) == 1);
  // The longest of several.
  const auto first = table->any(), second = table->any();
  first->begin(a + tokens(400, 4), {}, false);
  second->begin(a + tokens(400, 9), {}, false);
  CHECK(first->slot() == 0);
  CHECK(second->slot() == 2);
  first->end(reply({}));
  second->end(reply({}));
  CHECK(write(*table, a + tokens(400, 8), {}) == 2);
}

TEST_CASE("a slot tells of its text while it is written and afterwards") {
  const auto table = std::make_shared<SlotTable>(2);
  CHECK(table->look()[0].task.id == 0);
  auto use = table->any();
  CHECK_FALSE(use->slot());
  CHECK_FALSE(table->look()[0].busy);
  service::Request request;
  request.max_tokens = 9;
  request.stop = {"END"};
  use->begin(tokens(0, 10), request, true);
  CHECK(use->slot() == 0);
  service::Event read;
  read.prompt = {.n_tokens = 10, .n_cached = 4, .n_read = 7, .ms = 1};
  use->note(read);
  CHECK(table->look()[0].task.n_cached == 4);
  CHECK(table->look()[0].task.n_evaluated == 3);
  CHECK(table->look()[0].task.n_decoded == 0);
  // One token in two events.
  for (const char* text : {"a", "b"})
    use->note({.token = 5, .text = text, .kind = service::Event::Kind::kContent, .n_tokens = 1});
  use->note({.token = -1, .text = "\n", .kind = service::Event::Kind::kContent});
  SlotTable::Look look = table->look()[0];
  CHECK(look.busy);
  CHECK(look.writes);
  CHECK(look.task.id == 1);
  CHECK(look.task.n_prompt == 10);
  CHECK(look.task.n_decoded == 1);
  CHECK(look.task.has_new_line);
  CHECK(look.task.request.max_tokens == 9);
  CHECK(look.task.request.stop == std::vector<std::string>{"END"});
  CHECK(look.task.stream);
  CHECK_FALSE(table->try_take(0));

  use->end(reply({5, 6}));
  look = table->look()[0];
  CHECK_FALSE(look.busy);
  CHECK_FALSE(look.writes);
  CHECK(look.task.n_evaluated == 3);
  CHECK(look.task.n_cached == 7);
  CHECK(look.task.n_decoded == 2);
  CHECK_FALSE(table->look()[1].busy);
  CHECK(table->try_take(0)->tokens() == tokens(0, 10) + Tokens{5, 6});
}

TEST_CASE("of a text that lost tokens since the context was full, a slot has what is left") {
  const auto table = std::make_shared<SlotTable>(1);
  const auto use = table->any();
  use->begin(tokens(0, 10), {}, false);
  service::Reply got = reply({10, 11, 12});
  got.stats.n_discarded = 8;
  got.stats.left = {0, 1, 10, 11, 12};
  use->end(got);
  CHECK(table->try_take(0)->tokens() == Tokens{0, 1, 10, 11, 12});
}

TEST_CASE("a text that is given up leaves its slot with what was read of it") {
  const auto table = std::make_shared<SlotTable>(1);
  auto use = table->any();
  use->begin({1, 2}, {}, false);
  use->note({.token = 3, .text = "", .kind = service::Event::Kind::kContent, .n_tokens = 1});
  use.reset();
  CHECK_FALSE(table->look()[0].busy);
  CHECK(table->try_take(0)->tokens() == Tokens{1, 2, 3});
  // One that never began changes nothing.
  table->take(0, [] {}).reset();
  CHECK(table->try_take(0)->tokens() == Tokens{1, 2, 3});
}

TEST_CASE("who asks for a slot gets it when those before have left it, each once") {
  const auto table = std::make_shared<SlotTable>(2);
  std::vector<int> granted;
  const auto take = [&](int number) {
    return table->take(1, [&granted, number] { granted.push_back(number); });
  };
  auto first = take(1), second = take(2), third = take(3), fourth = take(4);
  CHECK(granted == std::vector<int>{1});
  CHECK_FALSE(second->slot());
  CHECK(table->look()[1].busy);
  CHECK_FALSE(table->look()[1].writes);
  third.reset();  // who waits may leave too
  first->begin({1}, {}, false);
  first->end(reply({2}));
  CHECK(granted == std::vector<int>{1, 2});
  first.reset();
  CHECK(second->slot() == 1);
  second.reset();
  CHECK(granted == std::vector<int>{1, 2, 4});
  fourth->leave();
  fourth->leave();
  CHECK_FALSE(table->look()[1].busy);
  CHECK(table->try_take(1)->tokens() == Tokens{1, 2});
}

TEST_CASE("a text that finds no slot gets the first that is left") {
  const auto table = std::make_shared<SlotTable>(1);
  const auto first = table->any(), second = table->any();
  first->begin({1}, {}, false);
  second->begin({2}, {}, false);
  CHECK(first->slot() == 0);
  CHECK_FALSE(second->slot());
  first->end(reply({}));
  CHECK(second->slot() == 0);
  CHECK(table->look()[0].task.id == 2);
  second->end(reply({3}));
  CHECK(table->try_take(0)->tokens() == Tokens{2, 3});
}

TEST_CASE("what a slot shares is the whole text of another one that its own goes on with") {
  const auto table = std::make_shared<SlotTable>(4);
  const auto put = [&](uint32_t slot, Tokens tokens) {
    const auto use = table->try_take(slot);
    use->replace(std::move(tokens), /*forget=*/false);
    return use->n_shared();
  };
  CHECK(put(0, tokens(0, 20)) == 0);
  // From there on they part.
  CHECK(put(1, tokens(0, 10) + tokens(100, 10)) == 0);
  CHECK(put(2, tokens(0, 10)) == 0);
  CHECK(table->try_take(0)->n_shared() == 10);
  // The last token of a text is in no cache.
  CHECK(put(3, tokens(0, 14) + Tokens{99}) == 10);
  CHECK(table->try_take(0)->n_shared() == 14);
  CHECK(table->try_take(1)->n_shared() == 10);
}

TEST_CASE("a slot whose text is forgotten is as if it was never used") {
  const auto table = std::make_shared<SlotTable>(1);
  write(*table, {1, 2}, {3});
  CHECK(table->look()[0].task.id == 1);
  table->try_take(0)->replace({}, /*forget=*/true);
  CHECK(table->look()[0].task.id == 0);
  CHECK(table->try_take(0)->tokens().empty());
}
