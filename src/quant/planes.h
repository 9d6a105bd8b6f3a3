// Planes: how a weight matrix lies in GPU memory. The bits of the file's blocks, regrouped so that
// kernels read them in aligned 16-byte vectors; no bit is added or lost (docs/weight-layout.md
// shows each type). Read next: q4_0.wgsl, then planes_builder.h and q4_k.cpp.
//
// A unit is 32 consecutive weights of one row, a group is four consecutive rows. Planes are stored
// one after the other, each starting at a multiple of 256 bytes. There are two kinds:
//   row planes    [rows][blocks]       the codes of one row, contiguous along the row
//   group planes  [rows / 4][blocks]   scales and odd bits of the four rows of a group side by
//   side, so that a workgroup that
//                                      computes a group gets them in one read
// Rows are padded with zeros to a multiple of four; rows of f32, f16 and bf16 to a multiple of 32
// elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quant/quant.h"

namespace puna::quant {

constexpr uint32_t kUnit = 32;      // weights of a unit
constexpr uint32_t kGroupRows = 4;  // rows of a group

struct Plane {
  std::string_view name;  // "q4"; kernels see its start as PLANE_Q4
  bool grouped = false;   // a group plane
  uint32_t words = 0;     // u32 words per block of a row, or per block of a group
  uint32_t row_bits = 0;  // group planes: distance of the next row's field inside a block
};

// A run of bits that lies together in the file's block and in a plane's block.
struct BitField {
  uint32_t file_bit =
      0;               // from the start of the file's block, least significant bit of byte 0 first
  uint32_t plane = 0;  // index into PlaneLayout::planes
  uint32_t plane_bit = 0;  // from the start of the plane's block (of row 0 of the group)
  uint32_t n_bits = 0;     // at most 32
};

// Where the bits of a type's block go; every file bit is in exactly one field.
struct TypePlanes {
  std::vector<Plane> planes;
  std::vector<BitField> fields;
  // Of the codebook types: the grid, which lies behind the planes (planes.wgsl reads it as plane
  // "grid"). A word is an entry, see planes_builder.h.
  std::vector<uint32_t> grid;
  uint32_t block_elements =
      0;  // elements of a row per plane block: the type's block, kUnit for f32, f16 and bf16
  // The template that fills the planes from the file: "repack/k_quants.wgsl", of src/kernels, or
  // the type's own "quant/q1_0_repack.wgsl".
  std::string_view repack;
};
const TypePlanes& planes_of(Type type);

// The planes of a matrix of `rows` x `cols`.
struct PlaneLayout {
  Type type = Type::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint32_t n_blocks = 0;                 // plane blocks of a row
  std::array<uint64_t, 4> offset_bytes;  // start of each plane, a multiple of 256
  uint64_t grid_offset_bytes = 0;        // start of TypePlanes::grid, a multiple of 256
  uint64_t bytes = 0;                    // of all planes and the grid, a multiple of 256

  uint32_t n_units() const { return (cols + kUnit - 1) / kUnit; }
};
// cols is a multiple of the type's block.
PlaneLayout plane_layout(Type type, uint32_t rows, uint32_t cols);

// Fills `planes` (plane_layout().bytes, zeroed) from all rows in file layout; unpack is its
// inverse. Slow: the oracle of kernels/repack, which does the same on the GPU while a file is read.
void pack(const PlaneLayout& layout, std::span<const std::byte> file_rows,
          std::span<std::byte> planes);
void unpack(const PlaneLayout& layout, std::span<const std::byte> planes,
            std::span<std::byte> file_rows);

}  // namespace puna::quant
