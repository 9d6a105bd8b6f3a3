// The position that a pair turns by: that of its row, and what is added in the coordinate of its section (RopeSections of rope.h).
#ifdef SECTIONS
#include "common/places.wgsl"
fn section_of(pair: u32) -> u32 {
#if BY_THREES
  let third = pair % 3u;
  return select(0u, third, (third == 1u && pair < 3u * SECTION_1) || (third == 2u && pair < 3u * SECTION_2));
#else
  return select(select(2u, 1u, pair < SECTION_0 + SECTION_1), 0u, pair < SECTION_0);
#endif
}
#define TURNED_BY(position, row, pair) (position + step[place_at(row, section_of(pair))])
#else
#define TURNED_BY(position, row, pair) position
#endif
