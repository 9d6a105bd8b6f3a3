// For tests: files of tests/fixtures/media, which tools/make_media_fixtures.py makes.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "base/json.h"
#include "media/picture.h"

namespace puna::media::testing {

inline std::vector<std::byte> read_fixture(const std::string& name) {
  std::ifstream file("tests/fixtures/media/" + name, std::ios::binary);
  REQUIRE_MESSAGE(file, "tests run in the root of the repository");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline base::Json read_facts(const std::string& name) {
  const std::vector<std::byte> bytes = read_fixture(name);
  auto json = base::Json::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  REQUIRE(json.has_value());
  return *std::move(json);
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline int64_t crc_of(const Picture& picture) {
  return base::crc32(std::as_bytes(std::span(picture.rgb)));
}

}  // namespace puna::media::testing
