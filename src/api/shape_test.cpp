#include "api/shape.h"

#include <doctest/doctest.h>

using puna::api::schema_of;

TEST_CASE("shapes are short forms of JSON schemas") {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {R"("any")", "{}"},
      {R"("string")", R"({"type":"string"})"},
      {R"("string|null")", R"({"type":["string","null"]})"},
      {R"("=a")", R"({"const":"a"})"},
      {R"("=a|b c")", R"({"enum":["a","b c"]})"},
      {R"("#Usage")", R"({"$ref":"#/components/schemas/Usage"})"},
      {R"(["integer"])", R"({"type":"array","items":{"type":"integer"}})"},
      {R"(["+","integer"])", R"({"type":"array","items":{"type":"integer"},"minItems":1})"},
      {R"(["integer",["null"]])",
       R"({"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"null"}}]})"},
      {"{}", R"({"type":"object"})"},
      {R"({"a":"any","b?":"null"})",
       R"({"type":"object","properties":{"a":{},"b":{"type":"null"}},"required":["a"]})"},
      {R"({"*":"number"})", R"({"type":"object","additionalProperties":{"type":"number"}})"},
  };
  for (const auto& [shape, schema] : kCases) CHECK(schema_of(shape).dump() == schema);
}
