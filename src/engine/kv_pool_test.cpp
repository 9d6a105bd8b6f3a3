#include "engine/kv_pool.h"

#include <doctest/doctest.h>

#include <set>

using namespace puna;
using engine::KvPool;

namespace {
plan::CacheConfig config(uint32_t n_pages, uint32_t n_sequences, uint32_t pages_per_sequence) {
  plan::CacheConfig c;
  c.n_pages = n_pages;
  c.n_sequences = n_sequences;
  c.pages_per_sequence = pages_per_sequence;
  return c;
}
}  // namespace

TEST_CASE("a sequence grows by whole pages and gives them back") {
  KvPool pool(config(4, 1, 4));
  CHECK(*pool.grow(0, 1) == true);
  CHECK(*pool.grow(0, 32) == false);
  CHECK(*pool.grow(0, 33) == true);
  CHECK(pool.pages(0).size() == 2);
  CHECK(pool.pages(0)[0] == 0);
  pool.shrink(0, 32);
  CHECK(pool.pages(0).size() == 1);
  CHECK(pool.n_free() == 3);
}

TEST_CASE("sequences never share a page, and a full pool says how much is missing") {
  KvPool pool(config(4, 2, 4));
  REQUIRE(pool.grow(0, 70).has_value());
  REQUIRE(pool.grow(1, 32).has_value());
  std::set<uint32_t> all(pool.pages(0).begin(), pool.pages(0).end());
  all.insert(pool.pages(1).begin(), pool.pages(1).end());
  CHECK(all.size() == 4);
  const auto full = pool.grow(1, 64);
  REQUIRE(!full.has_value());
  CHECK(full.error().message ==
        "The KV cache is full: 1 more pages of 32 tokens are needed, 0 are free.");
  CHECK(pool.pages(1).size() == 1);
}

TEST_CASE("a sequence cannot outgrow its context") {
  KvPool pool(config(8, 1, 2));
  CHECK(pool.grow(0, 65).error().message ==
        "The sequence needs 65 tokens, but the context holds 64.");
}
