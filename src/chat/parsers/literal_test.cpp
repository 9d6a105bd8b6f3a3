#include "chat/parsers/literal.h"

#include <doctest/doctest.h>

namespace puna::chat {
namespace {

std::string read(std::string_view text, LiteralStyle style) {
  LiteralReader reader(text, style);
  const auto value = reader.value();
  return value && reader.at_end() ? value->dump() : "refused";
}

TEST_CASE("Python literals become JSON") {
  const auto python = [](std::string_view text) { return read(text, LiteralStyle::kPython); };
  CHECK(python(" 'a\"b' ") == R"("a\"b")");
  CHECK(python(R"("\x41\u00fc\U0001F600\t\\")") == "\"Aü😀\\t\\\\\"");
  CHECK(python("[1, -2.5, (True, None), {'a': false},]") == R"([1,-2.5,[true,null],{"a":false}])");
  CHECK(python("()") == "[]");
  for (const char* text : {"", "'a", "[1 2]", "{a: 1}", "{'a' 1}", "1+1", "nothing", "--1",
                           "'\\x4'", "'\\ud800'", "[", "{'a':"}) {
    CAPTURE(text);
    CHECK(python(text) == "refused");
  }
}

TEST_CASE("Gemma's literals become JSON") {
  const auto gemma = [](std::string_view text) { return read(text, LiteralStyle::kGemma); };
  CHECK(gemma("<|\"|>a'\\n\"<|\"|>") == R"("a'\\n\"")");
  CHECK(gemma("{a:1,b_2:[true,None],<|\"|>c d<|\"|>:{}}") ==
        R"({"a":1,"b_2":[true,null],"c d":{}})");
  for (const char* text : {"'a'", "<|\"|>a", "(1)", "{1:2}", "word"}) {
    CAPTURE(text);
    CHECK(gemma(text) == "refused");
  }
}

}  // namespace
}  // namespace puna::chat
