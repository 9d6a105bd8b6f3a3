#include "base/edit_distance.h"

#include <doctest/doctest.h>

using namespace puna::base;

TEST_CASE("the distance of words is what has to be inserted, removed or changed") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("quantise", "quantize") == 1);
  CHECK(edit_distance("breif", "brief") == 2);
}

TEST_CASE("a third of the letters may be wrong, and two in any case") {
  CHECK(most_mistakes("") == 2);
  CHECK(most_mistakes("foo") == 2);
  CHECK(most_mistakes("embeddings") == 3);
}
