#include "formats/value.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace puna;
using namespace puna::formats;

namespace {

std::string error_of(const auto& result) { return result ? "" : result.error().message; }

}  // namespace

TEST_CASE("one number is read from every kind that holds it") {
  const Value kinds[] = {uint64_t{7},
                         int64_t{7},
                         7.0,
                         std::vector<uint64_t>{7},
                         std::vector<int64_t>{7, 7, 7},
                         std::vector<double>{7, 7}};
  for (const Value& value : kinds) {
    CAPTURE(describe(value));
    CHECK(as_uint("k", value).value() == 7);
    CHECK(as_int("k", value).value() == 7);
    CHECK(as_float("k", value).value() == 7.0);
    CHECK(as_uints("k", value).value().front() == 7);
    CHECK(as_ints("k", value).value().front() == 7);
    CHECK(as_floats("k", value).value().front() == 7.0);
  }
  CHECK(as_uint("k", std::numeric_limits<uint64_t>::max()).value() == UINT64_MAX);
  CHECK(as_int("k", -0x1p63).value() == INT64_MIN);
}

TEST_CASE("a number that does not fit is refused with key, value and kind") {
  CHECK(error_of(as_uint("k", int64_t{-5})) ==
        "The metadata key \"k\" is -5 (an integer), not a whole number from 0.");
  CHECK(error_of(as_uint("k", 2.5)) ==
        "The metadata key \"k\" is 2.5 (a real), not a whole number from 0.");
  CHECK(error_of(as_float("k", std::string("7"))) ==
        "The metadata key \"k\" is \"7\" (a string), not a number.");
  CHECK(!as_uint("k", 0x1p64));
  CHECK(!as_uint("k", std::nan("")));
  CHECK(!as_int("k", UINT64_MAX));
  CHECK(!as_int("k", 0x1p63));
  CHECK(!as_int("k", -INFINITY));
  CHECK(!as_uint("k", true));
  CHECK(!as_uint("k", std::vector<uint64_t>()));
  CHECK(error_of(as_uint("k", std::vector<uint64_t>{1, 2, 3, 4, 5})) ==
        "The metadata key \"k\" is [1, 2, 3, 4, ...] (a list of 5 unsigned integers), not a whole "
        "number from 0.");
  CHECK(error_of(as_uints("k", std::vector<std::string>{"a"})) ==
        "The metadata key \"k\" is [\"a\"] (a list of 1 strings), not a list of whole numbers from "
        "0.");
}

TEST_CASE("flags are truth values or the numbers 0 and 1") {
  CHECK(as_bool("k", true).value());
  CHECK(!as_bool("k", uint64_t{0}).value());
  CHECK(as_bool("k", 1.0).value());
  CHECK(!as_bool("k", uint64_t{2}));
  CHECK(as_bools("k", std::vector<bool>{true, false}).value() == std::vector<bool>{true, false});
  CHECK(as_bools("k", std::vector<int64_t>{1, 0}).value() == std::vector<bool>{true, false});
  CHECK(!as_bools("k", std::vector<int64_t>{1, -1}));
}

TEST_CASE("what a message shows of a value is short and has no control characters") {
  CHECK(describe(std::string("a\x1b[31m")) == "\"a\\u001b[31m\" (a string)");
  CHECK(describe(std::string(100, 'x')) ==
        "\"" + std::string(40, 'x') + "\"... of 100 bytes (a string)");
  CHECK(describe(ListOfLists{{std::vector<uint64_t>{1}, std::vector<uint64_t>{}}}) ==
        "a list of 2 lists");
  CHECK(is_list(ListOfLists{}));
  CHECK(is_list(std::vector<bool>()));
  CHECK(!is_list(std::string("[]")));
}
