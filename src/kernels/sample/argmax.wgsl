// Greedy choice in two dispatches (sample.h). The first reduces CHUNK logits a workgroup to one (key, id), the second the PARTS pairs
// of a row to one id. Logits are compared as ordered integers, so that NaN (below everything) and -0 (equal to 0) are settled here and
// not by a driver's fast math; the lowest id wins among equal keys.
@group(0) @binding(B_PARTS) var<storage, read_write> parts: array<vec2<u32>>;
#ifdef B_LOGITS
@group(0) @binding(B_LOGITS) var<storage, read_write> logits: array<u32>;
#else
@group(0) @binding(B_IDS) var<storage, read_write> ids: array<u32>;
#endif

var<workgroup> best: array<vec2<u32>, WG>;

// f32 bits to a key with the order of the numbers. NaN is 0, -inf 0x007fffff.
fn order_key(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return 0u;
  }
  if (magnitude == 0u) {
    return 0x80000000u;
  }
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let take_b = b.x > a.x || (b.x == a.x && b.y < a.y);
  return select(a, b, take_b);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  var mine = vec2<u32>(0u, 0xffffffffu);
#ifdef B_LOGITS
  let first = workgroup.x * CHUNK;
  for (var i = local; i < CHUNK; i += WG) {
    let id = first + i;
    if (id < VOCAB) {
      mine = better(mine, vec2<u32>(order_key(logits[row * VOCAB + id]), id));
    }
  }
#else
  for (var i = local; i < PARTS; i += WG) {
    mine = better(mine, parts[row * PARTS + i]);
  }
#endif
  best[local] = mine;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      best[local] = better(best[local], best[local + half]);
    }
    workgroupBarrier();
  }
  if (local == 0u) {
#ifdef B_LOGITS
    parts[row * PARTS + workgroup.x] = best[0];
#else
    ids[row] = best[0].y;
#endif
  }
}
