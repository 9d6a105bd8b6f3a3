#include "service/stop_filter.h"

#include <doctest/doctest.h>

using puna::service::StopFilter;

TEST_CASE("a stop string is never shown, however the text is cut") {
  const std::string text = "one two <|end|> three";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (size_t second = cut; second <= text.size(); ++second) {
      StopFilter filter({"<|end|>", "zzz"});
      std::string shown = filter.push(text.substr(0, cut));
      shown += filter.push(text.substr(cut, second - cut));
      shown += filter.push(text.substr(second));
      if (!filter.stopped()) shown += filter.finish();
      REQUIRE(shown == "one two ");
      CHECK(filter.stopped());
    }
  }
}

TEST_CASE("the beginning of a stop string that comes to nothing is shown at last") {
  StopFilter filter({"abcd"});
  CHECK(filter.push("xxab") == "xx");
  CHECK(filter.push("cx") == "abcx");
  CHECK(filter.push("abc").empty());
  CHECK(!filter.stopped());
  CHECK(filter.finish() == "abc");
}

TEST_CASE("the earliest of several stop strings ends the text") {
  StopFilter filter({"beta", "b"});
  CHECK(filter.push("alpha beta") == "alpha ");
  CHECK(filter.stopped());
  CHECK(filter.push("more").empty());
}
