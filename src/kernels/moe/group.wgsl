// Sorts the pairs of a step (row * CHOSEN + slot) by expert and cuts them into tiles of at most TILE rows of one expert, for the tiled
// products (matmul/matmul_parts.wgsl says how it lies). One workgroup; the order of an expert's pairs is open and of no effect.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_ROUTES) var<storage, read> routes: array<u32>;
@group(0) @binding(B_GROUPS) var<storage, read_write> groups: array<u32>;

const PER = (EXPERTS + WG - 1u) / WG;  // experts of an invocation, neighbours
var<workgroup> counts: array<atomic<u32>, EXPERTS>;  // of pairs, later the next free place
var<workgroup> sums: array<vec2<u32>, WG>;           // pairs and tiles

fn expert_of(pair: u32) -> u32 { return routes[pair / CHOSEN * (2u * CHOSEN) + pair % CHOSEN]; }

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) local: u32) {
  let n_pairs = step[ROW_COUNT] * CHOSEN;
  for (var e = local; e < EXPERTS; e += WG) { atomicStore(&counts[e], 0u); }
  workgroupBarrier();
  for (var p = local; p < n_pairs; p += WG) { atomicAdd(&counts[expert_of(p)], 1u); }
  workgroupBarrier();

  var own = vec2<u32>();
  for (var i = 0u; i < PER; i++) {
    let e = local * PER + i;
    if (e < EXPERTS) {
      let n = atomicLoad(&counts[e]);
      own += vec2<u32>(n, (n + TILE - 1u) / TILE);
    }
  }
  // Sums of all invocations up to each.
  sums[local] = own;
  for (var distance = 1u; distance < WG; distance = distance * 2u) {
    workgroupBarrier();
    var before = vec2<u32>();
    if (local >= distance) { before = sums[local - distance]; }
    workgroupBarrier();
    sums[local] += before;
  }
  workgroupBarrier();
  if (local == 0u) { groups[0] = sums[WG - 1u].y; }
  var at = sums[local] - own;
  for (var i = 0u; i < PER; i++) {
    let e = local * PER + i;
    if (e < EXPERTS) {
      let n = atomicLoad(&counts[e]);
      atomicStore(&counts[e], at.x);
      for (var first = 0u; first < n; first += TILE) {
        let word = 4u + at.y * 4u;
        groups[word] = e;
        groups[word + 1u] = at.x + first;
        groups[word + 2u] = at.x + min(first + TILE, n);
        at.y++;
      }
      at.x += n;
    }
  }
  workgroupBarrier();
  for (var p = local; p < n_pairs; p += WG) { groups[PAIRS_AT + atomicAdd(&counts[expert_of(p)], 1u)] = p; }
}
