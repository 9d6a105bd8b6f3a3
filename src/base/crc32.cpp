#include "base/crc32.h"

#include <array>

namespace puna::base {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // bits reversed
constexpr size_t kAtOnce = 8;                 // bytes a turn, each through a table of its own

using Table = std::array<uint32_t, 256>;

// tables[k][b]: what byte b does to the CRC when k more bytes follow it.
constexpr std::array<Table, kAtOnce> make_tables() {
  std::array<Table, kAtOnce> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < kAtOnce; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}
constexpr std::array<Table, kAtOnce> kTables = make_tables();

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes, uint32_t before) {
  const auto at = [&](size_t i) { return static_cast<uint32_t>(bytes[i]); };
  uint32_t crc = ~before;
  while (bytes.size() >= kAtOnce) {
    uint32_t next = 0;
    for (size_t i = 0; i < kAtOnce; ++i) {
      const uint32_t mixed = i < 4 ? at(i) ^ ((crc >> (8 * i)) & 0xFF) : at(i);
      next ^= kTables[kAtOnce - 1 - i][mixed];
    }
    crc = next;
    bytes = bytes.subspan(kAtOnce);
  }
  for (size_t i = 0; i < bytes.size(); ++i) crc = (crc >> 8) ^ kTables[0][(crc ^ at(i)) & 0xFF];
  return ~crc;
}

}  // namespace puna::base
