#include "io/byte_sink.h"

#include <doctest/doctest.h>

#include <string_view>

using namespace puna;
using namespace puna::io;

TEST_CASE("a memory sink appends") {
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  std::vector<std::byte> out;
  auto sink = to_memory(out);
  CHECK(sink->write(bytes_of("ab")));
  CHECK(sink->write(bytes_of("c")));
  CHECK(sink->finish());
  CHECK(out.size() == 3);
}
