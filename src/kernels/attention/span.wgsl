// Which positions a row attends to, and how a step's splits divide them.
const LOWEST = -1.0e30;  // below every score; its differences and exponentials stay finite

// The first position that a row at `position` sees.
fn first_visible(position: u32) -> u32 {
#if WINDOW > 0
  return select(0u, position + 1u - WINDOW, position + 1u > WINDOW);
#else
  return 0u;
#endif
}

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
