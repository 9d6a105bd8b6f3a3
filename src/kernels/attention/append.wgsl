// One row's fresh q, k and v for attention_decode.wgsl, which then needs no rope.wgsl before it: head norms, rotary positions, the
// append to the cache. An invocation has units of eight elements of a head; a group of LANES has the head, so that its squares go
// around by shuffles. What is appended is also used, so it is rounded as the cache keeps it (f32 or f16).
//   qkv  [(N_HEADS + 2 N_KV_HEADS) * HEAD_DIM] f32
#if N_ROT > 0
#include "common/bounded_half.wgsl"
#include "rope/turn.wgsl"
#include "rope/sections.wgsl"
@group(0) @binding(B_TABLE) var<storage, read> table: array<vec2<u32>>;
#endif
#include "rope/temperature.wgsl"
#ifdef B_NORMS
@group(0) @binding(B_NORMS) var<storage, read> norms: array<vec4<f32>>;  // of q heads, then of k heads
#endif

fn qkv_unit(head: u32, unit: u32) -> Unit {
  let at = (head * UNITS + unit) * 2u;
  return Unit(qkv[at], qkv[at + 1u]);
}

// A unit of a head as it comes, and the one that it is turned with.
struct Fresh {
  own: Unit,
#if N_ROT > 0 && NEOX
  other: Unit,
#endif
}
#if N_ROT > 0 && NEOX
fn paired_with(unit: u32) -> u32 { return select(unit, (unit + N_ROT / 16) % (N_ROT / 8), unit * 8u < N_ROT); }
fn fresh(head: u32, unit: u32) -> Fresh { return Fresh(qkv_unit(head, unit), qkv_unit(head, paired_with(unit))); }
#else
fn fresh(head: u32, unit: u32) -> Fresh { return Fresh(qkv_unit(head, unit)); }
#endif

// What turns a unit: out = own * cosine + other * sine, where other is the element that own is paired with.
struct Turn {
  cosine: Unit,
  sine: Unit,
}
fn turn_of(position: u32, unit: u32) -> Turn {
  var t = Turn(Unit(vec4<f32>(1.0), vec4<f32>(1.0)), Unit());
#if N_ROT > 0
  if (unit * 8u < N_ROT) {
#for c in 0..4
    {
#for half in 0..2
#define PART_0 low
#define PART_1 high
      let d_##half = unit * 8u + half * 4u + c;
#if NEOX
      let leading_##half = d_##half < N_ROT / 2;
      let angle_##half = turn(TURNED_BY(position, 0u, d_##half % (N_ROT / 2)), table[d_##half % (N_ROT / 2)]);
#else
      let leading_##half = c % 2 == 0;
      let angle_##half = turn(TURNED_BY(position, 0u, d_##half / 2u), table[d_##half / 2u]);
#endif
      t.cosine.PART_##half[c] = angle_##half.x;
      t.sine.PART_##half[c] = select(angle_##half.y, -angle_##half.y, leading_##half);
#endfor
    }
#endfor
  }
#endif
  return t;
}

// A unit of a q or k head, normed and turned, or with NORMS_LAST turned and normed: a turn leaves the length of a head as it was.
fn turned(raw: Fresh, head: u32, unit: u32, t: Turn, inverse_rms: f32) -> Unit {
  var own = raw.own;
#if N_ROT > 0 && NEOX
  let other_unit = paired_with(unit);
  var other = raw.other;
#endif
#ifdef B_NORMS
  let gamma = select(0u, UNITS * 2u, head >= N_HEADS);
#ifdef NORMS_LAST
#else
  own.low *= inverse_rms * norms[gamma + unit * 2u];
  own.high *= inverse_rms * norms[gamma + unit * 2u + 1u];
#if N_ROT > 0 && NEOX
  other.low *= inverse_rms * norms[gamma + other_unit * 2u];
  other.high *= inverse_rms * norms[gamma + other_unit * 2u + 1u];
#endif
#endif
#endif
#if N_ROT == 0
  return own;
#else
#if NEOX == 0
  let other = Unit(own.low.yxwz, own.high.yxwz);
#endif
  let out = Unit(own.low * t.cosine.low + other.low * t.sine.low, own.high * t.cosine.high + other.high * t.sine.high);
#ifdef NORMS_LAST
  return Unit(out.low * inverse_rms * norms[gamma + unit * 2u], out.high * inverse_rms * norms[gamma + unit * 2u + 1u]);
#else
  return out;
#endif
#endif
}

// A unit of a v head; inverse_rms is 1 where values are not normed.
fn value_unit(plain: Unit, inverse_rms: f32) -> Unit {
#ifdef V_NORM
  return Unit(plain.low * inverse_rms, plain.high * inverse_rms);
#else
  return plain;
#endif
}

fn squares_of(u: Unit) -> f32 { return dot(u.low, u.low) + dot(u.high, u.high); }

#if KV_F16
fn as_kept(u: Unit) -> Unit { return Unit(halves(bounded_halves(u.low)), halves(bounded_halves(u.high))); }
#else
fn as_kept(u: Unit) -> Unit { return u; }
#endif

#define CACHE_0 k_cache
#define CACHE_1 v_cache
#define KEEP_0 keep_k
#define KEEP_1 keep_v
#for c in 0..2
fn KEEP_##c(row: u32, unit: u32, u: Unit) {
#if KV_F16
  CACHE_##c[row * UNITS + unit] = vec4<u32>(bounded_halves(u.low), bounded_halves(u.high));
#else
  CACHE_##c[(row * UNITS + unit) * 2u] = u.low;
  CACHE_##c[(row * UNITS + unit) * 2u + 1u] = u.high;
#endif
}
#endfor
