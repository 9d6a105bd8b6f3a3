// Which positions a row attends to, and how a step's splits divide them.
const LOWEST = -1.0e30;  // below every score; its differences and exponentials stay finite

// The first position that a row at `position` sees.
fn first_visible(position: u32) -> u32 {
#ifdef CHUNKS
  return position - position % WINDOW;
#elif WINDOW > 0
  return select(0u, position + 1u - WINDOW, position + 1u > WINDOW);
#else
  return 0u;
#endif
}

// The same of a row of the step, and the last: its own position, unless it sees rows around it too. FIRST_OF_RUN is the first that any
// of several rows sees, of their lowest position, or what they see first where that is known already.
#ifdef PLACES
#include "common/places.wgsl"
fn first_seen(row: u32, position: u32) -> u32 {
  return min(first_visible(position), position - step[place_at(row, PLACE_BEFORE)]);
}
fn last_seen(row: u32, position: u32) -> u32 { return position + step[place_at(row, PLACE_AFTER)]; }
#define FIRST_SEEN(row, position) first_seen(row, position)
#define LAST_SEEN(row, position) last_seen(row, position)
#define FIRST_OF_RUN(lowest) lowest
#else
#define FIRST_SEEN(row, position) first_visible(position)
#define LAST_SEEN(row, position) position
#define FIRST_OF_RUN(lowest) first_visible(lowest)
#endif

// Positions of each split of a row that sees n: an even share, whole pages, none below the step's least.
fn split_share(n: u32) -> u32 {
  let even = (n + step[STEP_SPLIT_COUNT] - 1u) / step[STEP_SPLIT_COUNT];
  return max(step[STEP_SPLIT_TOKENS], (even + PAGE_TOKENS - 1u) / PAGE_TOKENS * PAGE_TOKENS);
}

#if SOFTCAP > 0
#include "common/math.wgsl"
fn cap(score: f32) -> f32 {
  return SOFTCAP_VALUE * tanh_exact(score / SOFTCAP_VALUE);
}
#endif
