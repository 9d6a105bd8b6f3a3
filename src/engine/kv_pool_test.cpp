#include "engine/kv_pool.h"

#include <doctest/doctest.h>

using puna::engine::KvPool;

TEST_CASE("pages are handed out from the lowest, and come back when the last owner lets go") {
  KvPool pool(3);
  CHECK(pool.n_pages() == 3);
  CHECK(pool.take() == 0u);
  CHECK(pool.take() == 1u);
  pool.share(0);
  CHECK(pool.n_owners(0) == 2);
  pool.release(0);
  CHECK(pool.n_free() == 1);
  pool.release(0);
  CHECK(pool.n_owners(0) == 0);
  CHECK(pool.n_free() == 2);
  CHECK(pool.has_used());
  CHECK(pool.take() == 0u);
  CHECK_FALSE(pool.has_used());
  CHECK(pool.take() == 2u);
  CHECK_FALSE(pool.take().has_value());
  CHECK_FALSE(pool.has_used());
}
