// The plain copies, driven by the bit fields that each type gives.
#include "quant/planes.h"

#include <algorithm>
#include <cstring>

namespace puna::quant {
namespace {

uint32_t read_bits(const std::byte* bytes, uint64_t bit, uint32_t n_bits) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < n_bits;) {
    const uint64_t at = bit + i;
    const uint32_t shift = static_cast<uint32_t>(at % 8);
    const uint32_t n = std::min(n_bits - i, 8 - shift);
    value |= ((std::to_integer<uint32_t>(bytes[at / 8]) >> shift) & ((1u << n) - 1)) << i;
    i += n;
  }
  return value;
}

// Into bits that are zero.
void write_bits(std::byte* bytes, uint64_t bit, uint32_t n_bits, uint32_t value) {
  for (uint32_t i = 0; i < n_bits;) {
    const uint64_t at = bit + i;
    const uint32_t shift = static_cast<uint32_t>(at % 8);
    const uint32_t n = std::min(n_bits - i, 8 - shift);
    bytes[at / 8] |= static_cast<std::byte>(((value >> i) & ((1u << n) - 1)) << shift);
    i += n;
  }
}

// Calls copy(file_bit, plane_bit, n_bits) for every field of every row; both from the start of
// their buffers.
template <class Copy>
void each_field(const PlaneLayout& layout, Copy&& copy) {
  const TypePlanes& type = planes_of(layout.type);
  const TypeInfo& file = info(layout.type);
  const uint64_t row_bits = 8 * row_bytes(layout.type, layout.cols);
  // A plane block of the float types is 32 blocks of the file, the last one perhaps cut short.
  const uint64_t block_bits =
      uint64_t{type.block_elements} / file.block_elements * file.block_bytes * 8;
  for (uint64_t row = 0; row < layout.rows; ++row) {
    for (uint64_t block = 0; block < layout.n_blocks; ++block) {
      for (const BitField& field : type.fields) {
        const Plane& plane = type.planes[field.plane];
        const uint64_t at = block * block_bits + field.file_bit;
        if (at >= row_bits) continue;
        const uint64_t major = plane.grouped ? row / kGroupRows : row;
        const uint64_t minor = plane.grouped ? row % kGroupRows * plane.row_bits : 0;
        copy(row * row_bits + at,
             8 * layout.offset_bytes[field.plane] +
                 (major * layout.n_blocks + block) * plane.words * 32 + minor + field.plane_bit,
             field.n_bits);
      }
    }
  }
}

}  // namespace

const TypePlanes& planes_of(Type type) {
  static const auto kTable = [] {
    std::array<TypePlanes, kTypeCount> table;
    for (size_t i = 0; i < table.size(); ++i) table[i] = info(static_cast<Type>(i)).planes();
    return table;
  }();
  return kTable[static_cast<size_t>(type)];
}

PlaneLayout plane_layout(Type type, uint32_t rows, uint32_t cols) {
  PlaneLayout layout{.type = type, .rows = rows, .cols = cols, .offset_bytes = {}};
  const TypePlanes& planes = planes_of(type);
  layout.n_blocks = (cols + planes.block_elements - 1) / planes.block_elements;
  const uint64_t n_groups = (uint64_t{rows} + kGroupRows - 1) / kGroupRows;
  for (size_t i = 0; i < planes.planes.size(); ++i) {
    const Plane& plane = planes.planes[i];
    layout.offset_bytes[i] = layout.bytes;
    const uint64_t n = (plane.grouped ? n_groups : n_groups * kGroupRows) * layout.n_blocks;
    layout.bytes += (n * plane.words * 4 + 255) / 256 * 256;
  }
  layout.grid_offset_bytes = layout.bytes;
  layout.bytes += (planes.grid.size() * 4 + 255) / 256 * 256;
  return layout;
}

void pack(const PlaneLayout& layout, std::span<const std::byte> file_rows,
          std::span<std::byte> planes) {
  each_field(layout, [&](uint64_t file_bit, uint64_t plane_bit, uint32_t n_bits) {
    write_bits(planes.data(), plane_bit, n_bits, read_bits(file_rows.data(), file_bit, n_bits));
  });
  const std::vector<uint32_t>& grid = planes_of(layout.type).grid;
  if (!grid.empty())
    std::memcpy(planes.data() + layout.grid_offset_bytes, grid.data(), grid.size() * 4);
}

void unpack(const PlaneLayout& layout, std::span<const std::byte> planes,
            std::span<std::byte> file_rows) {
  std::memset(file_rows.data(), 0, file_rows.size());
  each_field(layout, [&](uint64_t file_bit, uint64_t plane_bit, uint32_t n_bits) {
    write_bits(file_rows.data(), file_bit, n_bits, read_bits(planes.data(), plane_bit, n_bits));
  });
}

}  // namespace puna::quant
