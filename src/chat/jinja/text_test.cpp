#include "chat/jinja/text.h"

#include <doctest/doctest.h>

#include "chat/jinja/write.h"

namespace puna::chat::jinja {
namespace {

TEST_CASE("code points are counted, and stray bytes count one each") {
  CHECK(count_code_points("") == 0);
  CHECK(count_code_points("aé😀") == 3);
  CHECK(count_code_points("\xc3") == 1);
  CHECK(count_code_points("\xe2\x82") == 2);      // cut
  CHECK(count_code_points("\xc0\xaf") == 2);      // overlong
  CHECK(count_code_points("\xed\xa0\x80") == 3);  // a surrogate
  CHECK(count_code_points("\xf4\x90\x80\x80") == 4);
  CHECK(code_point_at("é", 0).value == 0xE9);
}

TEST_CASE("what is written as UTF-8 is read back") {
  for (const uint32_t c :
       {0x00u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    append_utf8(text, c);
    CHECK(code_point_at(text, 0).value == c);
    CHECK(code_point_at(text, 0).bytes == text.size());
  }
  std::string surrogate;
  append_utf8(surrogate, 0xD800);
  CHECK(surrogate == "\uFFFD");
}

TEST_CASE("trimming takes Unicode white space and leaves stray bytes") {
  CHECK(trim("\u3000\t x \u00A0\n") == "x");
  CHECK(trim_left("  x ") == "x ");
  CHECK(trim_right("  x ") == "  x");
  CHECK(trim(" \n ").empty());
  CHECK(trim("\x80 ") == "\x80");
  CHECK(trim_right("é\xa9 ") == "é\xa9");
  const std::string_view set = "é-";
  CHECK(trim("-éxé-", &set) == "x");
}

TEST_CASE("lines end as in Python") {
  const auto lines = split_lines("a\nb\r\nc\rd\u2028e\n");
  REQUIRE(lines.size() == 5);
  CHECK(lines[1] == "b");
  CHECK(lines[4] == "e");
  CHECK(split_lines("").empty());
  CHECK(split_lines("\n").size() == 1);
}

TEST_CASE("floats are written the shortest way, as Python writes them") {
  CHECK(float_text(1) == "1.0");
  CHECK(float_text(-0.0) == "-0.0");
  CHECK(float_text(0.1) == "0.1");
  CHECK(float_text(1e15) == "1000000000000000.0");
  CHECK(float_text(1e16) == "1e+16");
  CHECK(float_text(1.5e-5) == "1.5e-05");
  CHECK(float_text(0.0001) == "0.0001");
  CHECK(float_text(1.7976931348623157e308) == "1.7976931348623157e+308");
  CHECK(float_text(5e-324) == "5e-324");
}

}  // namespace
}  // namespace puna::chat::jinja
