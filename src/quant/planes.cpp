// The planes of each type as a table of bit fields, and the plain copies driven by it.
#include "quant/planes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "quant/grids.h"

namespace puna::quant {
namespace {

// Bit positions inside a plane's block, by element.
//   q4: a vec4 per unit; byte j holds element j in its low nibble and element 16 + j in its high
//   one.
uint32_t q4_bit(uint32_t e) { return e / 32 * 128 + e % 16 * 8 + e / 16 % 2 * 4; }
//   q2: a vec4 per 64 elements; bits 2s of byte l hold element 16s + l.
uint32_t q2_bit(uint32_t e) { return e / 64 * 128 + e % 16 * 8 + e / 16 % 4 * 2; }
//   h1: a word per unit and row, the rows of a group side by side; bit 8b + j holds element 4j + b,
//   so that (word >> j) & 0x01010101 has the bits of elements 4j .. 4j + 3 in its four bytes.
uint32_t order_bit(uint32_t e) { return e % 4 * 8 + e % 32 / 4; }
uint32_t h1_bit(uint32_t e) { return e / 32 * 128 + order_bit(e); }

//   b4: a vec4 per unit; component k holds bit k of all 32 elements, ordered as in h1. So the
//   tables of 16 values become a few logic operations on whole words (lookup.wgsl).
uint32_t b4_bit(uint32_t e, uint32_t k) { return e / 32 * 128 + k * 32 + order_bit(e); }

class Builder {
 public:
  explicit Builder(uint32_t block_elements) { out_.block_elements = block_elements; }

  void row_plane(std::string_view name, uint32_t words) {
    out_.planes.push_back({name, false, words, 0});
  }
  void group_plane(std::string_view name, uint32_t words, uint32_t row_bits) {
    out_.planes.push_back({name, true, words, row_bits});
  }
  // The next n_bits of the file go to plane_bit of the plane named.
  void field(std::string_view name, uint32_t plane_bit, uint32_t n_bits) {
    uint32_t plane = 0;
    while (out_.planes[plane].name != name) ++plane;
    out_.fields.push_back({file_bit_, plane, plane_bit, n_bits});
    file_bit_ += n_bits;
  }
  TypePlanes take() { return std::move(out_); }

  // 16 bytes as in q4_0: already in plane order.
  void nibbles_of_unit() {
    for (uint32_t w = 0; w < 4; ++w) field("q4", 32 * w, 32);
  }
  // n_bytes whose nibbles are elements first + j (low) and first + n_bytes + j (high).
  void bits_of_nibbles(uint32_t first, uint32_t n_bytes) {
    for (uint32_t j = 0; j < n_bytes; ++j) {
      for (uint32_t nibble = 0; nibble < 2; ++nibble) {
        for (uint32_t k = 0; k < 4; ++k) field("b4", b4_bit(first + nibble * n_bytes + j, k), 1);
      }
    }
  }
  // Signs of group (8 elements) `group`, 7 or 8 bits, to the word of their unit at `unit_bits` *
  // unit + `at`.
  void signs(std::string_view plane, uint32_t group, uint32_t n, uint32_t unit_bits, uint32_t at) {
    for (uint32_t i = 0; i < n; ++i)
      field(plane, group / 4 * unit_bits + at + order_bit(group % 4 * 8 + i), 1);
  }
  // Four bits to where the last sign of each group of a unit would be.
  void beside_signs(std::string_view plane, uint32_t unit, uint32_t unit_bits, uint32_t at) {
    for (uint32_t l = 0; l < 4; ++l) field(plane, unit * unit_bits + at + order_bit(8 * l + 7), 1);
  }
  void words(std::string_view plane, uint32_t first_bit, uint32_t n) {
    for (uint32_t w = 0; w < n; ++w) field(plane, first_bit + 32 * w, 32);
  }
  // The 12 bytes of 6-bit scales and mins of q4_k and q5_k (k_scales.h) into words 1..3 of "hd":
  // low nibbles of the scales, low nibbles of the mins, top two bits of the scales (low half) and
  // mins (high half).
  void scale_mins() {
    const auto low = [](uint32_t j, bool min) { return (min ? 64 : 32) + 4 * j; };
    const auto top = [](uint32_t j, bool min) { return (min ? 112 : 96) + 2 * j; };
    for (bool min : {false, true}) {
      for (uint32_t j = 0; j < 4; ++j) {
        field("hd", low(j, min), 4);
        field("hd", top(j, min), 2);
        field("hd", top(j + 4, min), 2);
      }
    }
    for (uint32_t j = 4; j < 8; ++j) {
      field("hd", low(j, false), 4);
      field("hd", low(j, true), 4);
    }
  }
  // 128 bytes: byte 32c + l holds element 64c + l (low nibble) and 64c + 32 + l.
  void nibbles_of_k() {
    for (uint32_t c = 0; c < 4; ++c) {
      for (uint32_t l = 0; l < 32; ++l) {
        field("q4", q4_bit(64 * c + l), 4);
        field("q4", q4_bit(64 * c + 32 + l), 4);
      }
    }
  }
  // 64 bytes: bits 2s of byte 32n + l belong to element 128n + 32s + l.
  void pairs_of_k() {
    for (uint32_t byte = 0; byte < 64; ++byte) {
      for (uint32_t s = 0; s < 4; ++s) field("q2", q2_bit(byte / 32 * 128 + 32 * s + byte % 32), 2);
    }
  }

 private:
  TypePlanes out_;
  uint32_t file_bit_ = 0;
};

// f32, f16, bf16: rows as they are.
TypePlanes float_planes(uint32_t bits) {
  Builder b(kUnit);
  b.row_plane("rows", bits);  // bits of an element = words of a unit
  for (uint32_t e = 0; e < kUnit; ++e) b.field("rows", e * bits, bits);
  return b.take();
}

// q4_0, q4_1, q5_0, q5_1: scale (and min), fifth bits, nibbles.
TypePlanes legacy_planes(bool has_min, bool has_high) {
  Builder b(32);
  b.row_plane("q4", 4);
  if (has_high) b.group_plane("h1", 4, 32);
  if (has_min) {
    b.group_plane("dm4", 4, 32);
    b.field("dm4", 0, 32);
  } else {
    b.group_plane("s4", 2, 16);
    b.field("s4", 0, 16);
  }
  for (uint32_t e = 0; e < 32 && has_high; ++e) b.field("h1", h1_bit(e), 1);
  b.nibbles_of_unit();
  return b.take();
}

// q4f16_1, q4f32_1: scale, then the nibbles in the order of the elements.
TypePlanes mlc_planes(std::string_view scales, uint32_t scale_bits) {
  Builder b(32);
  b.row_plane("q4", 4);
  b.group_plane(scales, scale_bits / 8, scale_bits);
  b.field(scales, 0, scale_bits);
  for (uint32_t e = 0; e < 32; ++e) b.field("q4", q4_bit(e), 4);
  return b.take();
}

TypePlanes q8_0_planes() {
  Builder b(32);
  b.row_plane("q8", 8);
  b.group_plane("s4", 2, 16);
  b.field("s4", 0, 16);
  for (uint32_t w = 0; w < 8; ++w) b.field("q8", 32 * w, 32);
  return b.take();
}

TypePlanes q2_k_planes() {
  Builder b(256);
  b.row_plane("q2", 16);
  b.group_plane("sc", 16, 128);  // the 16 bytes of scales and mins, as in the file
  b.group_plane("dm4", 4, 32);
  for (uint32_t w = 0; w < 4; ++w) b.field("sc", 32 * w, 32);
  b.pairs_of_k();
  b.field("dm4", 0, 32);
  return b.take();
}

TypePlanes q3_k_planes() {
  Builder b(256);
  b.row_plane("q2", 16);
  b.group_plane("h1", 32, 32);
  // Three vec4, a row each component: low nibbles of scales 0..7, of 8..15, then the top two bits
  // of all.
  b.group_plane("sc", 12, 32);
  b.group_plane("d4", 2, 16);
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t bit = 0; bit < 8; ++bit)
      b.field("h1", h1_bit(bit / 4 * 128 + bit % 4 * 32 + l), 1);
  }
  b.pairs_of_k();
  for (uint32_t j = 0; j < 8; ++j) {
    b.field("sc", 4 * j, 4);
    b.field("sc", 128 + 4 * j, 4);
  }
  for (uint32_t j = 0; j < 4; ++j) {
    for (uint32_t pair = 0; pair < 4; ++pair) b.field("sc", 256 + 2 * (4 * pair + j), 2);
  }
  b.field("d4", 0, 16);
  return b.take();
}

TypePlanes q4_k_planes() {
  Builder b(256);
  b.row_plane("q4", 32);
  b.group_plane("hd", 16, 128);
  b.field("hd", 0, 32);
  b.scale_mins();
  b.nibbles_of_k();
  return b.take();
}

TypePlanes q5_k_planes() {
  Builder b(256);
  b.row_plane("q4", 32);
  b.group_plane("h1", 32, 32);
  b.group_plane("hd", 16, 128);
  b.field("hd", 0, 32);
  b.scale_mins();
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t j = 0; j < 8; ++j) b.field("h1", h1_bit(32 * j + l), 1);
  }
  b.nibbles_of_k();
  return b.take();
}

TypePlanes q6_k_planes() {
  Builder b(256);
  b.row_plane("q4", 32);
  b.row_plane("q2", 16);
  b.group_plane("sc", 16, 128);
  b.group_plane("d4", 2, 16);
  for (uint32_t byte = 0; byte < 128; ++byte) {
    const uint32_t e = byte / 64 * 128 + byte % 64;
    b.field("q4", q4_bit(e), 4);
    b.field("q4", q4_bit(e + 64), 4);
  }
  b.pairs_of_k();
  for (uint32_t w = 0; w < 4; ++w) b.field("sc", 32 * w, 32);
  b.field("d4", 0, 16);
  return b.take();
}

// iq4_nl, mxfp4: a scale of scale_bits, nibbles.
TypePlanes lookup_planes(std::string_view scale, uint32_t scale_bits) {
  Builder b(32);
  b.row_plane("b4", 4);
  b.group_plane(scale, scale_bits / 8, scale_bits);
  b.field(scale, 0, scale_bits);
  b.bits_of_nibbles(0, 16);
  return b.take();
}

TypePlanes iq4_xs_planes() {
  Builder b(256);
  b.row_plane("b4", 32);
  b.group_plane("hd", 8, 64);  // the 8 bytes before the codes, as in the file
  b.words("hd", 0, 2);
  for (uint32_t u = 0; u < 8; ++u) b.bits_of_nibbles(32 * u, 16);
  return b.take();
}

TypePlanes nvfp4_planes() {
  Builder b(64);
  b.row_plane("b4", 8);
  b.group_plane("s8", 4, 32);
  b.words("s8", 0, 1);
  for (uint32_t s = 0; s < 4; ++s) b.bits_of_nibbles(16 * s, 8);
  return b.take();
}

// Of the codebook types: "ix" holds the entries' low 8 bits, "sg" the signs (order as in h1), "is"
// both of a unit side by side.
TypePlanes iq2_xxs_planes() {
  Builder b(256);
  b.row_plane("is", 16);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) {
    b.words("is", 64 * u, 1);
    for (uint32_t l = 0; l < 4; ++l) b.signs("is", 4 * u + l, 7, 64, 32);
    b.beside_signs("is", u, 64, 32);  // the scale
  }
  return b.take();
}

TypePlanes iq2_xs_planes() {
  Builder b(256);
  b.row_plane("is", 16);
  b.group_plane("sc", 8, 64);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t i = 0; i < 32; ++i) {
    b.field("is", i / 4 * 64 + i % 4 * 8, 8);
    // The ninth bit lies where the eighth sign would be.
    b.field("is", i / 4 * 64 + 32 + order_bit(i % 4 * 8 + 7), 1);
    b.signs("is", i, 7, 64, 32);
  }
  b.words("sc", 0, 2);
  return b.take();
}

TypePlanes iq2_s_planes() {
  Builder b(256);
  b.row_plane("is", 16);
  b.group_plane("sc", 16, 128);  // top bits of the entries, then scales, as in the file
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) b.words("is", 64 * u, 1);
  for (uint32_t i = 0; i < 32; ++i) b.signs("is", i, 8, 64, 32);
  b.words("sc", 0, 4);
  return b.take();
}

TypePlanes iq3_xxs_planes() {
  Builder b(256);
  b.row_plane("ix", 16);
  b.row_plane("sg", 8);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) {
    for (uint32_t l = 0; l < 4; ++l) b.signs("sg", 4 * u + l, 7, 32, 0);
    b.beside_signs("sg", u, 32, 0);  // the scale
  }
  return b.take();
}

TypePlanes iq3_s_planes() {
  Builder b(256);
  b.row_plane("ix", 16);
  b.row_plane("sg", 8);
  // Three vec4, a row each component: ninth bits of the entries of units 0..3, of 4..7, the scales.
  b.group_plane("sc", 12, 32);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 16);
  for (uint32_t w = 0; w < 2; ++w) b.field("sc", 128 * w, 32);
  for (uint32_t i = 0; i < 32; ++i) b.signs("sg", i, 8, 32, 0);
  b.field("sc", 256, 32);
  return b.take();
}

TypePlanes iq1_s_planes() {
  Builder b(256);
  b.row_plane("ix", 8);
  b.row_plane("qh", 4);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 8);
  b.words("qh", 0, 4);
  return b.take();
}

TypePlanes iq1_m_planes() {
  Builder b(256);
  b.row_plane("ix", 8);
  b.row_plane("qh", 4);
  b.group_plane("sc", 8, 64);  // two words: eight scales of 3 bits each, and a byte of d on top
  b.words("ix", 0, 8);
  b.words("qh", 0, 4);
  for (uint32_t i = 0; i < 4; ++i) {
    b.field("sc", i / 2 * 32 + i % 2 * 12, 12);
    b.field("sc", i / 2 * 32 + 24 + i % 2 * 4, 4);
  }
  return b.take();
}

TypePlanes tq1_0_planes() {
  Builder b(256);
  b.row_plane("t5", 12);
  b.group_plane("t4", 4, 32);
  b.group_plane("d4", 2, 16);
  b.words("t5", 0, 12);
  b.words("t4", 0, 1);
  b.field("d4", 0, 16);
  return b.take();
}

TypePlanes tq2_0_planes() {
  Builder b(256);
  b.row_plane("q2", 16);
  b.group_plane("d4", 2, 16);
  b.pairs_of_k();
  b.field("d4", 0, 16);
  return b.take();
}

TypePlanes q1_0_planes() {
  Builder b(128);
  b.row_plane("b1", 4);
  b.group_plane("s4", 2, 16);
  b.field("s4", 0, 16);
  for (uint32_t e = 0; e < 128; ++e) b.field("b1", e / 32 * 32 + order_bit(e), 1);
  return b.take();
}

// An entry of eight small values as a word: byte b holds, in two bits each, what `code` gives for
// values b and 4 + b.
template <size_t n, class Code>
std::vector<uint32_t> eights(const std::array<uint64_t, n>& grid, Code code) {
  std::vector<uint32_t> words;
  for (const uint64_t entry : grid) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      const auto value = static_cast<uint32_t>(entry >> (8 * i) & 255);
      word |= code(value) << (i % 4 * 8 + i / 4 * 2);
    }
    words.push_back(word);
  }
  return words;
}

// The grid of a codebook type as kernels read it: iq2 and iq1 by eights(), the number of the value
// among 8, 25, 43 and -1, 0, 1; iq3 the four values as bytes.
std::vector<uint32_t> grid_words(Type type) {
  const auto iq2_code = [](uint32_t value) { return value / 17; };
  const auto iq1_code = [](uint32_t value) { return value; };
  switch (type) {
    case Type::kIQ2_XXS:
      return eights(kIq2XxsGrid, iq2_code);
    case Type::kIQ2_XS:
      return eights(kIq2XsGrid, iq2_code);
    case Type::kIQ2_S:
      return eights(kIq2SGrid, iq2_code);
    case Type::kIQ3_XXS:
      return {kIq3XxsGrid.begin(), kIq3XxsGrid.end()};
    case Type::kIQ3_S:
      return {kIq3SGrid.begin(), kIq3SGrid.end()};
    case Type::kIQ1_S:
    case Type::kIQ1_M:
      return eights(kIq1Grid, iq1_code);
    default:
      return {};
  }
}

TypePlanes make_planes(Type type) {
  switch (type) {
    case Type::kF32:
      return float_planes(32);
    case Type::kF16:
    case Type::kBf16:
      return float_planes(16);
    case Type::kQ4_0:
      return legacy_planes(/*has_min=*/false, /*has_high=*/false);
    case Type::kQ4_1:
      return legacy_planes(/*has_min=*/true, /*has_high=*/false);
    case Type::kQ5_0:
      return legacy_planes(/*has_min=*/false, /*has_high=*/true);
    case Type::kQ5_1:
      return legacy_planes(/*has_min=*/true, /*has_high=*/true);
    case Type::kQ8_0:
      return q8_0_planes();
    case Type::kQ2_K:
      return q2_k_planes();
    case Type::kQ3_K:
      return q3_k_planes();
    case Type::kQ4_K:
      return q4_k_planes();
    case Type::kQ5_K:
      return q5_k_planes();
    case Type::kQ6_K:
      return q6_k_planes();
    case Type::kIQ2_XXS:
      return iq2_xxs_planes();
    case Type::kIQ2_XS:
      return iq2_xs_planes();
    case Type::kIQ3_XXS:
      return iq3_xxs_planes();
    case Type::kIQ1_S:
      return iq1_s_planes();
    case Type::kIQ4_NL:
      return lookup_planes("s4", 16);
    case Type::kIQ3_S:
      return iq3_s_planes();
    case Type::kIQ2_S:
      return iq2_s_planes();
    case Type::kIQ4_XS:
      return iq4_xs_planes();
    case Type::kIQ1_M:
      return iq1_m_planes();
    case Type::kTQ1_0:
      return tq1_0_planes();
    case Type::kTQ2_0:
      return tq2_0_planes();
    case Type::kMXFP4:
      return lookup_planes("e4", 8);
    case Type::kNVFP4:
      return nvfp4_planes();
    case Type::kQ1_0:
      return q1_0_planes();
    case Type::kQ4F16_1:
      return mlc_planes("s4", 16);
    case Type::kQ4F32_1:
      return mlc_planes("f4", 32);
  }
  return {};
}

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
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = make_planes(static_cast<Type>(i));
      table[i].grid = grid_words(static_cast<Type>(i));
    }
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
