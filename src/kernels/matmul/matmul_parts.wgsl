// Which matrix and which rows of x and y a product takes whose weight is several matrices of equal size, one after the other (MatmulParts
// in matmul.h): experts that the router picks for each row (B_ROUTES), or heads, of which a row goes through all. A pair is a row and one
// of its SLOTS parts: row * SLOTS + slot. The includer has ROWS of one part; this chunk of the weight holds parts FIRST_PART and on,
// CHUNK_PARTS of them.
//   X_OF_PAIRS  x has a row for each pair, else for each row
//   SUM_SLOTS   a mat-vec adds the products of a row's slots up; x_units go through all of them
//   TILES       m counts rows of a tile: of the list of pairs sorted by part (B_GROUPS, moe/group.wgsl), or of the step for heads

#ifdef B_ROUTES
// [n_rows][SLOTS parts, SLOTS weights]
@group(0) @binding(B_ROUTES) var<storage, read> routes: array<u32>;

fn part_of(pair: u32) -> u32 { return routes[pair / SLOTS * (2u * SLOTS) + pair % SLOTS]; }
fn share_of(pair: u32) -> f32 { return bitcast<f32>(routes[(pair / SLOTS * 2u + 1u) * SLOTS + pair % SLOTS]); }
#else
fn part_of(pair: u32) -> u32 { return pair % SLOTS; }
#endif
#ifdef B_PART_BIAS
@group(0) @binding(B_PART_BIAS) var<storage, read> part_bias: array<f32>;  // in the order of the weight's rows
#endif

fn in_chunk(part: u32) -> bool { return part - FIRST_PART < CHUNK_PARTS; }

#if X_OF_PAIRS
fn x_row(pair: u32) -> u32 { return pair; }
#else
fn x_row(pair: u32) -> u32 { return pair / SLOTS; }
#endif

#ifdef TILES
struct Tile {
  part: u32, first: u32, end: u32,  // rows of the tile: m from first to end
}
#ifdef B_GROUPS
// [0] tiles in use, from word 4 on the tiles (four words each), from PAIRS_AT on the pairs sorted by part
@group(0) @binding(B_GROUPS) var<storage, read> groups: array<u32>;

fn tile_of(wid: vec3<u32>) -> Tile {
  if (wid.y >= groups[0]) { return Tile(0u, 0u, 0u); }
  let at = 4u + wid.y * 4u;
  return Tile(groups[at], groups[at + 1u], groups[at + 2u]);
}
fn pair_at(m: u32, part: u32) -> u32 { return groups[PAIRS_AT + m]; }
#else
fn tile_of(wid: vec3<u32>) -> Tile { return Tile(wid.z, wid.y * TILE_M, step[ROW_COUNT]); }
fn pair_at(m: u32, part: u32) -> u32 { return m * SLOTS + part; }
#endif
#endif
