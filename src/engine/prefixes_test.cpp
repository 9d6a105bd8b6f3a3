#include "engine/prefixes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "kernels/common/step.h"

using namespace puna;
using engine::KvPool;
using engine::Prefixes;
using Tokens = std::vector<int32_t>;

namespace {

constexpr uint32_t kPage = kernels::kPageTokens;

Tokens text(size_t n, int32_t seed = 0) {
  Tokens out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>(i * 7) + seed);
  return out;
}
Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Adds a text that lies behind `n` tokens of what is there, as a sequence would, which then ends.
// Gives the last node.
Prefixes::NodeId add(Prefixes& prefixes, KvPool& pool, const Tokens& tokens) {
  Prefixes::NodeId node = Prefixes::kRoot;
  for (size_t from = 0; from < tokens.size(); from += kPage) {
    const auto page = pool.take();
    REQUIRE(page);
    REQUIRE(pool.windows().give(*page));
    const size_t n = std::min<size_t>(kPage, tokens.size() - from);
    node = prefixes.add(node, std::span(tokens).subspan(from, n), *page);
    pool.release(*page);
  }
  return node;
}

}  // namespace

TEST_CASE("a text is found as far as it is known, into the middle of a page") {
  KvPool pool(10);
  Prefixes prefixes(pool, {});
  add(prefixes, pool, text(80));
  CHECK(prefixes.n_nodes() == 3);
  CHECK(pool.n_free() == 7);

  CHECK(prefixes.find(text(80)).total() == 80);
  CHECK(prefixes.find(text(200)).total() == 80);
  CHECK(prefixes.find(text(64)).total() == 64);
  CHECK(prefixes.find(text(64)).n_part == 0);
  CHECK(prefixes.find(text(50)).n_tokens == kPage);
  CHECK(prefixes.find(text(50)).n_part == 18);
  CHECK(prefixes.find(text(40) + text(50, 1000)).total() == 40);
  CHECK(prefixes.find(text(50, 1000)).total() == 0);
  CHECK(prefixes.find({}).total() == 0);

  // A second text shares the first page, and the longer of two beginnings is taken.
  add(prefixes, pool, text(40) + text(50, 1000));
  CHECK(prefixes.n_nodes() == 5);
  CHECK(prefixes.find(text(45) + text(3, 1)).total() == 45);
  CHECK(prefixes.find(text(40) + text(50, 1000)).total() == 90);
}

TEST_CASE("a page that grows takes the place of its beginning, and what is known is kept once") {
  KvPool pool(10);
  Prefixes prefixes(pool, {});
  add(prefixes, pool, text(40));
  const auto longer = add(prefixes, pool, text(50));
  CHECK(prefixes.n_nodes() == 2);
  CHECK(prefixes.ends() == std::vector{longer});
  CHECK(add(prefixes, pool, text(50)) == longer);
  CHECK(pool.n_free() == 8);
  // A pinned one stays.
  prefixes.pin(longer);
  add(prefixes, pool, text(64));
  CHECK(prefixes.n_nodes() == 3);
  CHECK(prefixes.find(text(64)).total() == 64);
  prefixes.unpin(longer);
}

TEST_CASE("a text that nobody comes back to is stale after so many others, from its end on") {
  KvPool pool(30);
  Prefixes prefixes(pool, {.patience = 2});
  const auto end = [&](int32_t first) {
    const auto node = add(prefixes, pool, text(64, first));
    prefixes.end_text(node);
    return node;
  };
  const auto a = end(0), b = end(1000);
  prefixes.come_back_to(a);
  end(2000);
  CHECK_FALSE(prefixes.stale());
  const auto d = end(3000);
  CHECK(prefixes.stale() == b);  // though a was used before it was
  prefixes.pin(b);
  CHECK_FALSE(prefixes.stale());
  prefixes.unpin(b);
  prefixes.forget(b);
  CHECK(prefixes.stale() == prefixes.find(text(64, 1000)).node);
  prefixes.forget(*prefixes.stale());
  CHECK_FALSE(prefixes.stale());
  // Whoever is used again has its time again, but is not come back to by that.
  for (int i = 0; i < 2; ++i) prefixes.end_text(d);
  CHECK(prefixes.stale() == prefixes.find(text(64, 2000)).node);
  for (int i = 0; i < 9; ++i) end(100 * i + 10000);
  while (prefixes.stale()) prefixes.forget(*prefixes.stale());
  CHECK(prefixes.n_nodes() == 2 + 2 * 2);
  CHECK(prefixes.find(text(64)).total() == 64);
}

TEST_CASE("copies are of what is come back to, and of the rest while texts do come back") {
  KvPool pool(300);
  Prefixes prefixes(pool, {.host_bytes = 1000});
  const auto node = [&](int32_t first) { return add(prefixes, pool, text(32, first)); };
  const auto a = node(0), b = node(1000);
  CHECK(prefixes.keeps_bytes(a));
  prefixes.come_back_to(a);
  for (int i = 0; i < 60; ++i) prefixes.come_back_to(Prefixes::kRoot);
  CHECK(prefixes.keeps_bytes(a));
  CHECK_FALSE(prefixes.keeps_bytes(b));
  for (int i = 0; i < 4; ++i) prefixes.come_back_to(a);
  CHECK_FALSE(prefixes.keeps_bytes(b));
  for (int i = 0; i < 3; ++i) prefixes.come_back_to(node(2000 + 100 * i));
  CHECK(prefixes.keeps_bytes(b));
  Prefixes none(pool, {});
  CHECK_FALSE(none.keeps_bytes(add(none, pool, text(32))));
}

TEST_CASE("the page that was used longest ago goes first, ends of texts before their beginnings") {
  KvPool pool(10);
  Prefixes prefixes(pool, {});
  const auto a = add(prefixes, pool, text(64));
  const auto b = add(prefixes, pool, text(64, 1000));
  prefixes.end_text(a);
  CHECK(prefixes.oldest() == b);
  prefixes.leave(b);
  CHECK(prefixes.find(text(64, 1000)).total() == kPage);
  CHECK(prefixes.oldest() == prefixes.find(text(64, 1000)).node);
  prefixes.leave(*prefixes.oldest());
  CHECK(prefixes.find(text(64, 1000)).total() == 0);
  CHECK(prefixes.oldest() == a);
  // What a running text needs stays.
  prefixes.pin(a);
  CHECK_FALSE(prefixes.oldest());
  prefixes.unpin(a);
  prefixes.leave(a);
  prefixes.leave(*prefixes.oldest());
  CHECK(prefixes.n_nodes() == 0);
  CHECK(pool.n_free() == 10);
}

TEST_CASE("a text goes on only where the pages of its last window are there, all of them") {
  KvPool pool(10, 8);
  Prefixes prefixes(pool, {.window = 64});
  const auto end = add(prefixes, pool, text(192));
  CHECK(prefixes.find(text(126)).total() == 126);
  // Without tokens 32 to 63: the window before token 127 begins at 64, that before 126 at 63.
  const auto second = prefixes.path(end)[1];
  pool.windows().drop(*prefixes.page(second));
  CHECK_FALSE(prefixes.has_window(second));
  CHECK(prefixes.find(text(200)).total() == 192);
  CHECK(prefixes.find(text(127)).total() == 127);
  CHECK(prefixes.find(text(126)).total() == kPage);
  CHECK(prefixes.find(text(126)).part == Prefixes::kRoot);
  CHECK(prefixes.find(text(126)).n_alike == 126);  // the other layers have all of it
  CHECK(prefixes.find(text(40)).total() == kPage);
  CHECK(prefixes.find(text(20)).total() == 20);
  // Nor from the middle of a page that has none.
  pool.windows().drop(*prefixes.page(end));
  CHECK(prefixes.find(text(192)).total() == 160);
  CHECK(prefixes.find(text(170)).total() == 160);
  CHECK(pool.windows().n_free() == 4);
  prefixes.forget(prefixes.path(end)[0]);
  CHECK(pool.windows().n_free() == 8);
}

TEST_CASE(
    "whatever is gone of windows, a text goes on at its end or at the last page where it can") {
  constexpr uint32_t kPages = 6, kTokens = kPages * kPage;
  for (const uint32_t window : {1u, 20u, 32u, 33u, 70u, 500u}) {
    CAPTURE(window);
    KvPool pool(kPages, kPages);
    Prefixes prefixes(pool, {.window = window});
    const auto path = prefixes.path(add(prefixes, pool, text(kTokens)));
    for (uint32_t mask = 0; mask < 1u << kPages; ++mask) {
      CAPTURE(mask);
      const auto is_there = [&](uint32_t page) { return (mask >> page & 1) != 0; };
      for (uint32_t i = 0; i < kPages; ++i) {
        const uint32_t page = *prefixes.page(path[i]);
        if (is_there(i)) {
          REQUIRE(pool.windows().give(page));
        } else {
          pool.windows().drop(page);
        }
      }
      // The next token, at n, sees tokens from n + 1 - window on, and lies in a page with others.
      const auto can_go_on = [&](uint32_t n) {
        for (uint32_t at = n + 1 > window ? n + 1 - window : 0; at < n; ++at) {
          if (!is_there(at / kPage)) return false;
        }
        return n % kPage == 0 || is_there(n / kPage);
      };
      for (uint32_t n = 1; n <= kTokens; n += 5) {
        uint32_t expected = n;
        while (expected > 0 && !can_go_on(expected)) expected = (expected - 1) / kPage * kPage;
        REQUIRE(prefixes.find(text(n)).total() == expected);
      }
    }
  }
}

TEST_CASE("recurrent states need their windows beside them") {
  KvPool pool(10, 8);
  Prefixes prefixes(pool, {.recurrent = true, .window = 32, .n_states = 2});
  const auto end = add(prefixes, pool, text(100));
  const auto whole = prefixes.parent(end);
  REQUIRE(prefixes.keep_state(end));
  REQUIRE(prefixes.keep_state(whole));
  CHECK(prefixes.find(text(120)).total() == 100);
  pool.windows().drop(*prefixes.page(end));
  CHECK(prefixes.find(text(120)).total() == 96);
  pool.windows().drop(*prefixes.page(whole));
  CHECK(prefixes.find(text(120)).total() == 0);
}

TEST_CASE("in host memory a page has what it had of windows, or goes without") {
  KvPool pool(4, 2);
  constexpr size_t kBytes = 100;
  Prefixes prefixes(pool, {.window = 32, .host_bytes = 4 * kBytes});
  const auto end = add(prefixes, pool, text(64));
  pool.windows().drop(*prefixes.page(prefixes.parent(end)));
  prefixes.leave(end, std::vector<std::byte>(kBytes));
  prefixes.leave(prefixes.parent(end), std::vector<std::byte>(kBytes));
  CHECK(pool.n_free() == 4);
  CHECK(pool.windows().n_free() == 2);
  CHECK(prefixes.has_window(end));
  CHECK_FALSE(prefixes.has_window(prefixes.parent(end)));
  CHECK(prefixes.find(text(80)).total() == 64);
  CHECK(prefixes.find(text(32)).total() == 0);
}

TEST_CASE("pages go to host memory while there is room, and come back") {
  KvPool pool(4);
  constexpr size_t kBytes = 100;
  Prefixes prefixes(pool, {.host_bytes = 2 * kBytes});
  const auto end = add(prefixes, pool, text(96));
  for (int32_t i = 0; i < 3; ++i) {
    prefixes.leave(*prefixes.oldest(), std::vector<std::byte>(kBytes, std::byte(i)));
  }
  // Of three pages the last one had to go.
  CHECK(pool.n_free() == 4);
  CHECK(prefixes.host_bytes() == 2 * kBytes);
  CHECK(prefixes.n_nodes() == 2);
  const auto found = prefixes.find(text(96));
  CHECK(found.total() == 64);
  CHECK_FALSE(prefixes.page(found.node));
  CHECK_FALSE(prefixes.oldest());
  uint8_t expected = 2;
  for (const auto node : prefixes.path(found.node)) {
    const auto bytes = prefixes.come_back(node, *pool.take());
    CHECK(bytes == std::vector<std::byte>(kBytes, std::byte(expected--)));
  }
  CHECK(prefixes.host_bytes() == 0);
  CHECK(prefixes.oldest() == found.node);
  // More than the limit is not kept at all.
  prefixes.leave(found.node, std::vector<std::byte>(3 * kBytes));
  CHECK(prefixes.n_nodes() == 1);
  CHECK(end != Prefixes::kRoot);
}

TEST_CASE("the end of a text is forgotten, but for what others have of it") {
  KvPool pool(20);
  Prefixes prefixes(pool, {});
  const Tokens other = text(40) + text(50, 1000);
  add(prefixes, pool, text(100));
  add(prefixes, pool, other);
  REQUIRE(prefixes.n_nodes() == 6);
  // Its first page goes on elsewhere.
  prefixes.forget_end(text(101), 0);
  CHECK(prefixes.find(text(101)).total() == 40);
  CHECK(prefixes.find(text(101)).n_tokens == kPage);
  CHECK(prefixes.find(other).total() == 90);
  CHECK(prefixes.n_nodes() == 3);
  prefixes.forget_end(other, 0);
  CHECK(prefixes.n_nodes() == 0);
  CHECK(pool.n_free() == 20);

  // What is before a token stays, and so does what running texts need.
  const auto end = add(prefixes, pool, text(100));
  prefixes.forget_end(text(100), 64);
  CHECK(prefixes.find(text(100)).total() == 64);
  CHECK(add(prefixes, pool, text(70)) != end);
  const auto second = prefixes.path(prefixes.find(text(64)).node).back();
  prefixes.pin(second);
  prefixes.forget_end(text(100), 0);
  CHECK(prefixes.find(text(100)).total() == 64);
  prefixes.unpin(second);
  // A text that goes on behind it keeps all of it.
  prefixes.forget_end(text(50), 0);
  CHECK(prefixes.find(text(100)).total() == 64);
  prefixes.forget_end(text(64), 0);
  CHECK(prefixes.n_nodes() == 0);
  CHECK(pool.n_free() == 20);
}

TEST_CASE("a page of two texts is forgotten with the shorter, when the longer was before") {
  for (const size_t longer : {60u, 64u, 70u}) {
    CAPTURE(longer);
    KvPool pool(20);
    Prefixes prefixes(pool, {});
    add(prefixes, pool, text(50));
    add(prefixes, pool, text(longer));
    prefixes.forget_end(text(longer), 50);
    CHECK(prefixes.find(text(longer)).total() == 50);
    prefixes.forget_end(text(50), 50);
    CHECK(prefixes.find(text(longer)).total() == 50);
    prefixes.forget_end(text(50), 0);
    CHECK(prefixes.n_nodes() == 0);
    CHECK(pool.n_free() == 20);
  }
  // Another text has the same beginning of the page.
  KvPool pool(20);
  Prefixes prefixes(pool, {});
  const Tokens other = text(50) + text(5, 1000);
  add(prefixes, pool, text(60));
  add(prefixes, pool, other);
  prefixes.forget_end(text(60), 50);
  CHECK(prefixes.n_nodes() == 2);
  CHECK(prefixes.find(text(60)).total() == 50);
  CHECK(prefixes.find(other).total() == 55);
  CHECK(pool.n_free() == 18);
}

TEST_CASE("the end of a text is forgotten in host memory and with its states") {
  KvPool pool(20);
  constexpr size_t kBytes = 100;
  Prefixes hosted(pool, {.host_bytes = 4 * kBytes});
  hosted.leave(add(hosted, pool, text(64)), std::vector<std::byte>(kBytes));
  hosted.forget_end(text(64), 0);
  CHECK(hosted.n_nodes() == 0);
  CHECK(hosted.host_bytes() == 0);

  Prefixes recurrent(pool, {.recurrent = true, .n_states = 2});
  const auto end = add(recurrent, pool, text(80)), longer = add(recurrent, pool, text(96));
  REQUIRE(recurrent.keep_state(end));
  REQUIRE(recurrent.keep_state(longer));
  // The page that is not whole lies beside the one that goes on.
  recurrent.forget_end(text(80), 0);
  CHECK(recurrent.find(text(90)).total() == 0);
  CHECK(recurrent.find(text(96)).total() == 96);
  recurrent.forget_end(text(96), 0);
  CHECK(recurrent.n_nodes() == 0);
  CHECK(pool.n_free() == 20);
}

TEST_CASE("with recurrent states a text goes on only behind one, and the oldest state goes first") {
  KvPool pool(20);
  Prefixes prefixes(pool, {.recurrent = true, .n_states = 2});
  const auto end = add(prefixes, pool, text(80));
  CHECK(prefixes.find(text(90)).total() == 0);
  CHECK(prefixes.find(text(90)).n_alike == 80);
  const auto first = prefixes.path(end)[0];
  CHECK(prefixes.keep_state(first) == 0u);
  CHECK(prefixes.find(text(90)).total() == kPage);
  CHECK(prefixes.keep_state(end) == 1u);
  CHECK(prefixes.keep_state(end) == 1u);  // it has one
  const auto found = prefixes.find(text(90));
  CHECK(found.n_tokens == 64);
  CHECK(found.part == end);
  CHECK(prefixes.state(found.part) == 1u);
  CHECK(prefixes.find(text(79)).total() == kPage);  // not into the middle of a page
  // Pages that are not whole stay beside longer ones for their states.
  const auto longer = add(prefixes, pool, text(96));
  CHECK(prefixes.find(text(90)).total() == 80);
  prefixes.end_text(first);
  CHECK(prefixes.keep_state(longer) == 1u);  // of the page that was not whole, which is gone
  CHECK(prefixes.find(text(90)).total() == kPage);
  CHECK(prefixes.find(text(96)).total() == 96);
}

TEST_CASE("any texts in any order: what is found is right, and no page is lost") {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    KvPool pool(30);
    Prefixes prefixes(pool, {.host_bytes = uint64_t{round % 2 == 0 ? 0u : 8u} * 10});
    std::vector<Tokens> texts;
    std::vector<Prefixes::NodeId> pinned;
    for (int step = 0; step < 300; ++step) {
      Tokens tokens;
      if (!texts.empty() && below(3) > 0) {
        tokens = texts[below(static_cast<uint32_t>(texts.size()))];
        tokens.resize(below(static_cast<uint32_t>(tokens.size()) + 1));
      }
      tokens = tokens + text(below(70) + 1, static_cast<int32_t>(below(4)));
      texts.push_back(tokens);
      // What is found spells the beginning of the text.
      const auto found = prefixes.find(tokens);
      Tokens spelled;
      for (const auto node : prefixes.path(found.node)) {
        for (const int32_t id : prefixes.tokens(node)) spelled.push_back(id);
      }
      REQUIRE(spelled.size() == found.n_tokens);
      for (uint32_t i = 0; i < found.n_part; ++i) spelled.push_back(prefixes.tokens(found.part)[i]);
      REQUIRE(spelled.size() <= tokens.size());
      REQUIRE(std::equal(spelled.begin(), spelled.end(), tokens.begin()));
      // Goes on from there as a sequence does; where it can have no page, it ends.
      Prefixes::NodeId node = found.node;
      const auto path = prefixes.path(node);
      prefixes.pin(node);
      for (const auto on_path : path) prefixes.pin(on_path);
      for (const auto on_path : path) {
        if (prefixes.page(on_path)) continue;
        while (pool.n_free() == 0 && prefixes.oldest()) prefixes.leave(*prefixes.oldest());
        const auto page = pool.take();
        REQUIRE(page);
        CHECK(prefixes.come_back(on_path, *page).size() == 10);
      }
      for (const auto on_path : path) prefixes.unpin(on_path);
      for (size_t from = found.n_tokens; from < tokens.size(); from += kPage) {
        while (pool.n_free() == 0 && prefixes.oldest())
          prefixes.leave(*prefixes.oldest(), std::vector<std::byte>(10));
        const auto page = pool.take();
        if (!page) break;
        const auto part =
            std::span(tokens).subspan(from, std::min<size_t>(kPage, tokens.size() - from));
        const auto next = prefixes.add(node, part, *page);
        pool.release(*page);
        prefixes.pin(next);
        prefixes.unpin(node);
        node = next;
      }
      pinned.push_back(node);
      if (pinned.size() > 3) {
        const size_t which = below(static_cast<uint32_t>(pinned.size()));
        prefixes.unpin(pinned[which]);
        pinned.erase(pinned.begin() + static_cast<ptrdiff_t>(which));
      }
      // Every page is free or in the tree.
      REQUIRE(pool.n_free() <= pool.n_pages());
    }
    for (const auto node : pinned) prefixes.unpin(node);
    while (prefixes.oldest()) prefixes.leave(*prefixes.oldest());
    CHECK(pool.n_free() == 30);
    // What is left is in host memory alone.
    while (!prefixes.ends().empty()) prefixes.forget(prefixes.ends().front());
    CHECK(prefixes.n_nodes() == 0);
    CHECK(prefixes.host_bytes() == 0);
  }
}
