#include "api/outline.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace puna;
using namespace puna::api;

namespace {

constexpr std::array<std::string_view, 3> kNames = {"model", "keep_alive", "messages"};

std::string outline_of(std::string_view text, size_t most = 4096) {
  const auto out = outline(text, kNames, most);
  return out ? out->dump() : out.error().message;
}

}  // namespace

TEST_CASE("what is named is read, and the rest is passed over") {
  CHECK(outline_of(R"({"a": [1, {"model": "no"}, "}]\""], "model" : "yes" , "keep_alive":-1.5})") ==
        R"({"model":"yes","keep_alive":-1.5})");
  CHECK(outline_of(" {} ") == "{}");
  CHECK(outline_of(R"({"mod\u0065l":"x"})") == R"({"model":"x"})");
  CHECK(outline_of(R"({"a":1})") == "{}");
  CHECK(outline_of("[1]") == "null");
  CHECK(outline_of("7") == "null");
}

TEST_CASE("what is long is not read, but known to be there") {
  const std::string text = "{\"messages\":[\"" + std::string(100, 'x') + "\"],\"model\":\"m\"}";
  CHECK(outline_of(text, 50) == R"({"messages":true,"model":"m"})");
}

TEST_CASE("what is no JSON document is an error, wherever it is cut off") {
  const std::string text = R"({"a": [1, {"b": "c\"d"}], "model": "m", "keep_alive": null})";
  REQUIRE(outline(text, kNames));
  for (size_t i = 0; i < text.size(); ++i) CHECK_FALSE(outline(text.substr(0, i), kNames));
  for (const char* wrong : {R"({"model":})", R"({"model" "m"})", R"({"a":1,})", R"({"a":1} x)",
                            R"({"a":[1}})", R"({"a":1]})", R"({,})", R"({"model":nul})", "", "x"})
    CHECK_FALSE(outline(wrong, kNames));
  CHECK_FALSE(outline("{\"a\":" + std::string(101, '[') + std::string(101, ']') + "}", kNames));
}
