// Reading weights from planes (planes.h), whatever their type. The including kernel declares
//   weights: array<vec4<u32>> (read)
// and the host defines WEIGHT_<TYPE>, UNITS (units of a row) and PLANE_<NAME> (start of each plane, in vec4). Each type's file gives
//   WEIGHT_FLOAT 1 (f32, f16, bf16): decode_vec(row, i), the WEIGHT_VEC weights of 16-byte vector i of a row
//   WEIGHT_FLOAT 0 (all others):
//     Group, load_group(g, r, u)   what the rows of group g have side by side at unit u; where it is a Four, perhaps of row r alone
//     Raw, load_raw(g, r, u)       what row r of the group has by itself there, as it lies: few registers while it is on its way
//     unpack(raw, group, r, u)     both as a Unit
//     WEIGHT_SCALES                1: a unit has one scale and min, 2: one for each half
//     WEIGHT_MIN                   0: the min is always zero
// and all have decode_unit(row, u), the 32 weights of a unit exactly as the format defines them.

// 32 weights as signed bytes, four to a word in element order (lo: 0..15, hi: 16..31):
//   weight[i] = s * byte[i] + m, with s.x, m.x for elements 0..15 and s.y, m.y for 16..31.
// Every product is exact in f32; adding m rounds once.
struct Unit {
  lo : vec4<u32>, hi : vec4<u32>, s : vec2<f32>, m : vec2<f32>,
}

// Of a vec4 that is a word for each row of a group: all of it where a kernel takes the four rows together (ROWS_TOGETHER), which is one
// read, else the word of the one row that it takes.
#ifdef ROWS_TOGETHER
alias Four = vec4<u32>;
fn load_four(at: u32, r: u32) -> Four { return weights[at]; }
fn of_row(four: Four, r: u32) -> u32 { return four[r]; }
#else
alias Four = u32;
fn load_four(at: u32, r: u32) -> Four { return weights[at][r]; }
fn of_row(four: Four, r: u32) -> u32 { return four; }
#endif

// The i-th vec2 of a plane.
fn plane_pair(plane: u32, i: u32) -> vec2<u32> {
  let v = weights[plane + (i >> 1u)];
  return select(v.xy, v.zw, (i & 1u) == 1u);
}

// The r-th of four f16.
fn half_of_4(v : vec2<u32>, r : u32) -> f32 {
  return unpack2x16float(select(v.x, v.y, r > 1u) >> (16u * (r & 1u))).x;
}

// The fifth bits of a unit, in place above its nibbles.
fn fifth_bits_lo(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(4u, 3u, 2u, 1u)) & vec4<u32>(0x10101010u);
}
fn fifth_bits_hi(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x10101010u);
}

// The same bits at the top of their bytes.
fn top_bits_lo(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(7u, 6u, 5u, 4u)) & vec4<u32>(0x80808080u);
}
fn top_bits_hi(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(3u, 2u, 1u, 0u)) & vec4<u32>(0x80808080u);
}

// The 16 elements of a word of plane q2, as 32 q: a sum of products that is off by one, as an fma that rounds twice may leave it, is off by
// the less.
fn pairs_of(word : u32) -> vec4<u32> { return vec4<u32>(word << 5u, word << 3u, word << 1u, word >> 1u) & vec4<u32>(0x60606060u); }

// Of bytes with n bits q in their upper end, 2^(8 - n) (q - 2^(n - 1)): the topmost bit turned round.
fn centred(v : vec4<u32>) -> vec4<u32> { return v ^ vec4<u32>(0x80808080u); }

fn nibbles_lo(q : vec4<u32>) -> vec4<u32> { return q & vec4<u32>(0x0f0f0f0fu); }
fn nibbles_hi(q : vec4<u32>) -> vec4<u32> { return (q >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu); }

#include "quant/types.wgsl"

#if !WEIGHT_FLOAT
fn load_unit(group: Group, g: u32, r: u32, u: u32) -> Unit { return unpack(load_raw(g, r, u), group, r, u); }

// A unit of a row on its way.
struct Asked {
  raw : Raw, group : Group,
}
fn ask(row : u32, u : u32) -> Asked { return Asked(load_raw(row / 4u, row % 4u, u), load_group(row / 4u, row % 4u, u)); }
fn arrived(asked : Asked, row : u32, u : u32) -> Unit { return unpack(asked.raw, asked.group, row % 4u, u); }

fn bytes_f32(w : u32) -> vec4<f32> { return vec4<f32>(unpack4xI8(w)); }

fn decode_unit(row : u32, u : u32) -> array<vec4<f32>, 8> { return weights_of(arrived(ask(row, u), row, u)); }

fn weights_of(q : Unit) -> array<vec4<f32>, 8> {
  var w : array<vec4<f32>, 8>;
#for c in 0..4
  w[c] = q.s.x * bytes_f32(q.lo[c]) + q.m.x;
  w[c + 4] = q.s.y * bytes_f32(q.hi[c]) + q.m.y;
#endfor
  return w;
}
#endif
