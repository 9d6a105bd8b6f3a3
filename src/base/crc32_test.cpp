#include "base/crc32.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using puna::base::crc32;

namespace {
std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
}  // namespace

// The check value of the CRC catalogues (CRC-32/ISO-HDLC), and one of zlib's crc32().
TEST_CASE("CRC-32 is that of zlib") {
  CHECK(crc32({}) == 0);
  CHECK(crc32(bytes("123456789")) == 0xCBF43926);
  CHECK(crc32(bytes("The quick brown fox jumps over the lazy dog")) == 0x414FA339);
}

TEST_CASE("a CRC-32 goes on where another one ended, and sees every bit") {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 37));
  const uint32_t whole = crc32(bytes(text));
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const auto all = bytes(text);
    CHECK(crc32(all.subspan(cut), crc32(all.first(cut))) == whole);
  }
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    CHECK(crc32(bytes(other)) != whole);
  }
}
