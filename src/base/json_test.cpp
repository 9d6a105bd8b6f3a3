#include "base/json.h"

#include <doctest/doctest.h>

using puna::base::Json;

TEST_CASE("JSON keeps order, integers and reals through parse and dump") {
  const char* text = R"({"b":[1,2.5,-3,true,null],"a":{"s":"x\ny"}})";
  auto v = Json::parse(text);
  REQUIRE(v.has_value());
  CHECK(v->dump() == text);
  CHECK(v->find("b")->items()[0].is_integer());
  CHECK(*v->find("a")->get_string("s") == "x\ny");
}

TEST_CASE("malformed JSON names line and column") {
  auto v = Json::parse("{\"a\": 1,\n  oops}");
  REQUIRE(!v.has_value());
  CHECK(v.error().message == "The JSON text is malformed at line 2, column 3.");
  CHECK(!Json::parse("").has_value());
  CHECK(!Json::parse("[1] 2").has_value());
  using namespace std::string_view_literals;
  CHECK(Json::parse("[1]\n\0 2"sv).error().message ==
        "The JSON text is malformed at line 2, column 1.");
  CHECK(!Json::parse("[1]\0"sv).has_value());
  CHECK(!Json::parse("[\0]"sv).has_value());
}

TEST_CASE("of members with the same key the last value stays, in the place of the first") {
  const auto json = Json::parse(R"({"b":1,"a":2,"b":3,"c":4,"a":5,"b":6})");
  REQUIRE(json.has_value());
  CHECK(json->dump() == R"({"b":6,"a":5,"c":4})");
}

TEST_CASE("an object of a vocabulary's size is parsed member by member, not searched through") {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"token " + std::to_string(i) + "\":1,";
  text.back() = '}';
  const auto json = Json::parse(text);
  REQUIRE(json.has_value());
  CHECK(json->members().size() == 300'000);
}

TEST_CASE("a member whose key is new is added without a search, and found to be changed") {
  Json json;
  constexpr int kMembers = 300'000;
  for (int i = 0; i < kMembers; ++i) json.add("key " + std::to_string(i), i);
  CHECK(json.members().size() == kMembers);
  Json small = Json::object().add("a", "x").add("b", Json::array());
  small.find("a")->string() += "y";
  small.find("b")->push(1);
  CHECK(small.find("c") == nullptr);
  CHECK(small.dump() == R"({"a":"xy","b":[1]})");
  CHECK(small.set("a", 1).dump() == R"({"a":1,"b":[1]})");
}

TEST_CASE("nesting is bounded") {
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  auto v = Json::parse(deep);
  REQUIRE(!v.has_value());
  CHECK(v.error().message == "The JSON text nests deeper than 100 levels.");
  CHECK(Json::parse(deep, 2000).has_value());
}

TEST_CASE("checked getters say what stands there instead") {
  auto v = Json::parse(R"({"n":"five"})");
  auto n = v->get_integer("n");
  REQUIRE(!n.has_value());
  CHECK(n.error().message == "The member \"n\" is of type string, but an integer is expected.");
  CHECK(v->get_bool("missing").error().message ==
        "The member \"missing\" is missing (true or false is expected).");
}

TEST_CASE("strictly no key may be repeated, nor a number be beyond what numbers hold") {
  CHECK(Json::parse(R"({"a": 1, "a": 2})")->find("a")->integer() == 2);
  CHECK(Json::parse_strictly(R"({"a": {"b": 1, "c": 2, "b": 1}})").error().message ==
        "The JSON text has the key \"b\" twice in an object.");
  CHECK(Json::parse_strictly(R"([{"a": 1}, {"a": 2}])").has_value());
  for (const char* text :
       {"1e999", "NaN", "{\"a\": -1e999}", R"(["\ud800"])", "\"\xff\"", "01", "[1,]"})
    CHECK_FALSE(Json::parse_strictly(text).has_value());
}
