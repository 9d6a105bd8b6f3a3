#include "api/ollama/time.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::api;
using base::Json;

TEST_CASE("points in time are written as RFC 3339 has them") {
  using namespace std::chrono;
  CHECK(ollama::timestamp(system_clock::time_point()) == "1970-01-01T00:00:00.000000000Z");
  CHECK(ollama::timestamp(sys_days(2024y / February / 29) + 23h + 59min + 58s + 70ms) ==
        "2024-02-29T23:59:58.070000000Z");
  CHECK(ollama::ns_of(1.5) == 1500000);
  CHECK(ollama::now().size() == 30);
}

TEST_CASE("keep_alive is a number of seconds or a duration as Go writes them") {
  const auto read = [](Json value) {
    const auto seconds = ollama::read_keep_alive(value);
    REQUIRE_MESSAGE(seconds.has_value(), value.dump());
    return *seconds;
  };
  CHECK(read(5) == 5);
  CHECK(read(-1) == -1);
  CHECK(read(0.5) == 0.5);
  CHECK(read("0") == 0);
  CHECK(read("5m") == 300);
  CHECK(read("1h30m") == 5400);
  CHECK(read("-1.5s") == -1.5);
  CHECK(read("+2ms") == 0.002);
  CHECK(read("3us") == doctest::Approx(3e-6));
  CHECK(read("3µs") == doctest::Approx(3e-6));
  CHECK(read("7ns") == doctest::Approx(7e-9));
  CHECK(read(".5s") == 0.5);
  for (const char* wrong : {"", "-", "5", "m", "5 m", "5m ", "5x", "1e3s", "--5s", "infs", "nans"})
    CHECK_MESSAGE(!ollama::read_keep_alive(wrong).has_value(), wrong);
  CHECK(ollama::read_keep_alive(true).error().message ==
        "The field \"keep_alive\" is true, but has to be a number of seconds or a duration "
        "(\"5m\").");
}
