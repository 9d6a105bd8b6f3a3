// Turns staged file rows into planes (quant/planes.h). An invocation takes one unit (32 columns) of one group (4 rows); together the
// invocations of a piece write whole words that no other piece touches.
// Defines: WEIGHT_<TYPE>, COLS, UNITS, PLANE_<NAME> (in vec4), BLOCK_UNITS (units of a plane block), BLOCK_BYTES (of it in the file).

// What a piece holds, repack_params() in repack.h.
struct Piece {
  first_row: u32,    // of the destination, a multiple of 4
  n_rows: u32,
  first_unit: u32,   // of each row, a multiple of BLOCK_UNITS
  n_units: u32,
  source_byte: u32,  // where the first row starts in the staging buffer
  row_bytes: u32,    // from one staged row to the next
}
@group(0) @binding(0) var<storage, read> piece: Piece;
@group(0) @binding(1) var<storage, read> staged: array<u32>;
@group(0) @binding(2) var<storage, read_write> planes: array<u32>;

// Rows that pad the last group read as zeros.
var<private> row_present: bool;

// Byte address of the block that holds unit u of a row.
fn block_at(row: u32, u: u32) -> u32 {
  row_present = row < piece.first_row + piece.n_rows;
  return piece.source_byte + (row - piece.first_row) * piece.row_bytes + (u - piece.first_unit) / BLOCK_UNITS * BLOCK_BYTES;
}

// Reads at any byte address.
fn file_u32(at: u32) -> u32 {
  let last = arrayLength(&staged) - 1u;
  let i = min(at >> 2u, last);
  let shift = 8u * (at & 3u);
  // The high part, shifted in two steps because a shift by 32 does not give zero.
  let high = (staged[min(i + 1u, last)] << 1u) << (31u - shift);
  let word = (staged[i] >> shift) | select(high, 0u, shift == 0u);
  return select(0u, word, row_present);
}
fn file_u16(at: u32) -> u32 { return file_u32(at) & 0xffffu; }
fn file_vec4(at: u32) -> vec4<u32> {
  return vec4<u32>(file_u32(at), file_u32(at + 4u), file_u32(at + 8u), file_u32(at + 12u));
}

// Writes the i-th vec4 or vec2 of a plane.
fn put_vec4(plane: u32, i: u32, v: vec4<u32>) {
  let at = (plane + i) * 4u;
  planes[at] = v.x;
  planes[at + 1u] = v.y;
  planes[at + 2u] = v.z;
  planes[at + 3u] = v.w;
}
fn put_vec2(plane: u32, i: u32, v: vec2<u32>) {
  let at = plane * 4u + i * 2u;
  planes[at] = v.x;
  planes[at + 1u] = v.y;
}
fn put_u32(plane: u32, i: u32, v: u32) { planes[plane * 4u + i] = v; }
// Four f16 side by side.
fn put_halves(plane: u32, i: u32, h: vec4<u32>) { put_vec2(plane, i, h.xz | (h.yw << vec2<u32>(16u))); }

// The bits of four bytes, each moved to bit j of its byte in the h1 word.
fn h1_bits(bytes: vec4<u32>, first_word: u32) -> u32 {
  let j = vec4<u32>(first_word, first_word + 1u, first_word + 2u, first_word + 3u);
  let bits = (bytes & vec4<u32>(0x01010101u)) << j;
  return bits.x | bits.y | bits.z | bits.w;
}

// A word whose bit i is element i, in the order of h1.
fn ordered_bits(word: u32) -> u32 {
  // Nibbles to bytes: the product puts bit k of a nibble at bit 8k.
  let spread = vec4<u32>(0x00204081u);
  let nibbles = vec4<u32>(word, word >> 4u, word >> 8u, word >> 12u) & vec4<u32>(15u);
  let more = vec4<u32>(word >> 16u, word >> 20u, word >> 24u, word >> 28u) & vec4<u32>(15u);
  return h1_bits(nibbles * spread, 0u) | h1_bits(more * spread, 4u);
}

#include "repack/types.wgsl"

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n_groups = (piece.n_rows + 3u) / 4u;
  if (id.x >= n_groups * piece.n_units) { return; }
  repack_unit(piece.first_row / 4u + id.x / piece.n_units, piece.first_unit + id.x % piece.n_units);
}
