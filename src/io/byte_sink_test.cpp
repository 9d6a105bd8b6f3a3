#include "io/byte_sink.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "io/byte_source.h"

using namespace puna;
using namespace puna::io;

namespace {
std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
}  // namespace

TEST_CASE("a file appears under its name only when it is finished") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("puna_sink_test_" + std::to_string(::getpid()));
  {
    auto sink = create_file(path).value();
    CHECK(sink->write(bytes_of("abc")));
    CHECK(open_file(path).error().code == base::ErrorCode::kNotFound);
    CHECK(sink->write(bytes_of("de")));
    CHECK(sink->finish());
  }
  CHECK(open_file(path).value()->size() == 5);
  CHECK(open_file(path + ".part").error().code == base::ErrorCode::kNotFound);
  std::remove(path.c_str());
}

TEST_CASE("a file sink given up leaves nothing behind") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("puna_sink_test_" + std::to_string(::getpid()));
  {
    auto sink = create_file(path).value();
    CHECK(sink->write(bytes_of("abc")));
  }
  CHECK(!open_file(path));
  CHECK(!open_file(path + ".part"));
}

TEST_CASE("a folder that does not exist is an error") {
  CHECK(create_file("/nonexistent/out.gguf").error().code == base::ErrorCode::kIo);
}

TEST_CASE("a memory sink appends") {
  std::vector<std::byte> out;
  auto sink = to_memory(out);
  CHECK(sink->write(bytes_of("ab")));
  CHECK(sink->write(bytes_of("c")));
  CHECK(sink->finish());
  CHECK(out.size() == 3);
}
