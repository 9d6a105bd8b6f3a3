#include "base/printable.h"

#include <doctest/doctest.h>

namespace puna::base {
namespace {

TEST_CASE("what a terminal would obey is written out") {
  CHECK(printable("blk.0\x1b[31m\x07") == "blk.0\\u001b[31m\\u0007");
  CHECK(printable(std::string_view("a\0b\x7f", 4)) == "a\\u0000b\\u007f");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\u009b2J");  // CSI of C1, as UTF-8
  CHECK(printable("\x9b"
                  "2J \xe9 \xe4\xb8") == "\\x9b2J \\xe9 \\xe4\\xb8");
  CHECK(printable("a\x9b\xe4\xb8", Keep::kText) == "a\uFFFD\uFFFD\uFFFD");
  for (const Keep keep : {Keep::kNothing, Keep::kLines, Keep::kText}) {
    CHECK(printable("\x1b]52;c;\x07", keep) == "\\u001b]52;c;\\u0007");
    CHECK(printable("a\rb", keep) == "a\\u000db");
    CHECK(printable("Grüße, 世界 🙂 token.weight", keep) == "Grüße, 世界 🙂 token.weight");
  }
}

TEST_CASE("a name keeps to its line and its direction, a message has lines, a reply both") {
  CHECK(printable("a\nb\tc") == "a\\u000ab\\u0009c");
  CHECK(printable("a\nb\tc\r\n", Keep::kLines) == "a\nb\tc\n");
  CHECK(printable("a\xe2\x80\xa8"
                  "b") == "a\\u2028b");
  const char* turned =
      "fugg.\xe2\x80\xae"
      "exe \xe2\x81\xa6";
  CHECK(printable(turned) == "fugg.\\u202eexe \\u2066");
  CHECK(printable(turned, Keep::kLines) == "fugg.\\u202eexe \\u2066");
  CHECK(printable(turned, Keep::kText) == turned);
}

}  // namespace
}  // namespace puna::base
