#include "base/hex.h"

#include <doctest/doctest.h>

using namespace puna;

TEST_CASE("hexadecimal digits are of either case") {
  CHECK(base::hex_digit('0') == 0);
  CHECK(base::hex_digit('9') == 9);
  CHECK(base::hex_digit('a') == 10);
  CHECK(base::hex_digit('F') == 15);
  for (const char c : {'/', ':', '@', 'G', '`', 'g', '\0', '\xc3'}) CHECK(base::hex_digit(c) == -1);
}

TEST_CASE("a byte is the two digits that a text begins with") {
  CHECK(base::hex_byte("41") == 'A');
  CHECK(base::hex_byte("fFx") == '\xff');
  CHECK_FALSE(base::hex_byte("4"));
  CHECK_FALSE(base::hex_byte("4g"));
  CHECK_FALSE(base::hex_byte(""));
}

TEST_CASE("what is no escape of percent stays") {
  CHECK(base::percent_decoded("a%20b%C3%a4") == "a b\xc3\xa4");
  CHECK(base::percent_decoded("100%") == "100%");
  CHECK(base::percent_decoded("%4") == "%4");
  CHECK(base::percent_decoded("%zz%41") == "%zzA");
  CHECK(base::percent_decoded("%2541") == "%41");
}
