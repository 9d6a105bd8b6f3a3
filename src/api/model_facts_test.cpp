#include "api/model_facts.h"

#include <doctest/doctest.h>

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;

TEST_CASE("what is said of a model crosses the border of a process as it is") {
  test::Served served;
  const base::Json json = to_json(facts_of(served.model->loaded()));
  const auto read = read_facts(json);
  REQUIRE(read);
  CHECK(to_json(*read) == json);
  CHECK(read->card.capabilities == std::vector<std::string>{"completion"});
  for (const auto& [name, value] : json.members()) {
    CAPTURE(name);
    base::Json less = base::Json::object();
    for (const auto& each : json.members()) {
      if (each.first != name) less.set(each.first, each.second);
    }
    CHECK_FALSE(read_facts(less));
  }
}
