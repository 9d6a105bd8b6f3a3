#include "grammar/json_schema/document.h"

#include <doctest/doctest.h>

#include <string_view>

namespace puna::grammar {
namespace {

// RFC 3986, section 5.4: what the standard says of its own example.
TEST_CASE("relative URIs lead where RFC 3986 says") {
  struct Row {
    std::string_view reference, result;
  };
  constexpr Row kRows[] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {";x", "http://a/b/c/;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"g;x=1/../y", "http://a/b/c/y"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.reference);
    CHECK(resolve_uri("http://a/b/c/d;p?q", row.reference) == row.result);
  }
  CHECK(resolve_uri("", "a/b.json#x") == "a/b.json");
  CHECK(resolve_uri("http://a", "b") == "http://a/b");
}

TEST_CASE("a path says where a value of the document stands") {
  const auto root = base::Json::parse(R"({"a": [{"b/c": {"d~": 1}}]})");
  const auto document = SchemaDocument::read(*root);
  const base::Json& item = root->find("a")->items()[0];
  CHECK(document->path_of(*root) == "#");
  CHECK(document->path_of(item) == "#/a/0");
  CHECK(document->path_of(*item.find("b/c")->find("d~")) == "#/a/0/b~1c/d~0");
}

}  // namespace
}  // namespace puna::grammar
