#include "quant/planes.h"

#include <doctest/doctest.h>

#include <set>

#include "quant/random_rows.h"

using namespace puna::quant;

TEST_CASE("every bit of a block goes to one bit of the planes, and every plane bit is used") {
  for (const TypeInfo& type : types()) {
    CAPTURE(type.name);
    const TypePlanes& planes = planes_of(type.type);
    const uint32_t file_bits = planes.block_elements / type.block_elements * type.block_bytes * 8;
    std::vector<int> seen(file_bits, 0);
    std::set<std::pair<uint32_t, uint32_t>> targets;
    for (const BitField& field : planes.fields) {
      for (uint32_t i = 0; i < field.n_bits; ++i) {
        ++seen.at(field.file_bit + i);
        for (uint32_t row = 0; row < kGroupRows; ++row) {
          const Plane& plane = planes.planes[field.plane];
          const uint32_t bit = field.plane_bit + i + (plane.grouped ? row * plane.row_bits : 0);
          REQUIRE(bit < plane.words * 32);
          if (plane.grouped || row == 0) REQUIRE(targets.emplace(field.plane, bit).second);
        }
      }
    }
    for (int n : seen) REQUIRE(n == 1);
    uint32_t plane_bits = 0;
    for (const Plane& plane : planes.planes)
      plane_bits += plane.words * 32 * (plane.grouped ? 1 : kGroupRows);
    CHECK(plane_bits == file_bits * kGroupRows);  // bits per weight do not grow
  }
}

TEST_CASE("unpack gives back every byte that was packed, whatever the number of rows") {
  for (const TypeInfo& type : types()) {
    CAPTURE(type.name);
    for (uint32_t rows : {1u, 3u, 4u, 5u, 10u}) {
      const uint32_t cols = type.block_elements == 1 ? 45 : 3 * type.block_elements;
      CAPTURE(rows);
      const std::vector<std::byte> file = random_rows(type.type, rows, cols, rows);
      const PlaneLayout layout = plane_layout(type.type, rows, cols);
      std::vector<std::byte> planes(layout.bytes), back(file.size(), std::byte{0x5a});
      pack(layout, file, planes);
      unpack(layout, planes, back);
      CHECK(file == back);
    }
  }
}

TEST_CASE("planes start at multiples of 256 bytes and take no more than the file and the padding") {
  for (const TypeInfo& type : types()) {
    CAPTURE(type.name);
    const PlaneLayout layout = plane_layout(type.type, 1030, 2048);
    const uint64_t padded_rows = 1032;
    CHECK(layout.bytes >= padded_rows * row_bytes(type.type, 2048));
    const uint64_t grid = planes_of(type.type).grid.size() * 4;
    CHECK(layout.bytes < padded_rows * row_bytes(type.type, 2048) + 4 * 256 + grid);
    CHECK(grid <= 8192);
    CHECK(layout.grid_offset_bytes + grid <= layout.bytes);
    for (size_t i = 0; i < planes_of(type.type).planes.size(); ++i) {
      CHECK(layout.offset_bytes[i] % 256 == 0);
      CHECK(layout.offset_bytes[i] < layout.bytes);
    }
  }
}

TEST_CASE("the first unit of q4_0 lies in the planes as planes.wgsl reads it") {
  // Row 2 of a group: its nibbles are vec4 2 of plane q4, its scale the low half of the second word
  // of s4.
  const std::vector<std::byte> file = random_rows(Type::kQ4_0, 4, 32, 1);
  const PlaneLayout layout = plane_layout(Type::kQ4_0, 4, 32);
  std::vector<std::byte> planes(layout.bytes);
  pack(layout, file, planes);
  for (size_t i = 0; i < 16; ++i) CHECK(planes[2 * 16 + i] == file[2 * 18 + 2 + i]);
  for (size_t i = 0; i < 2; ++i) CHECK(planes[layout.offset_bytes[1] + 4 + i] == file[2 * 18 + i]);
}
