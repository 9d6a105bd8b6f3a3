// How rows stand to media, behind the step in its buffer: RowPlace of step.h, whose numbers step_test.cpp keeps equal.
const STEP_PLACES = 8208u;
const PLACE_WORDS = 6u;
// Words of a row: rotary positions of three coordinates come first.
const PLACE_NEXT = 3u;
const PLACE_BEFORE = 4u;
const PLACE_AFTER = 5u;

fn place_at(row: u32, word: u32) -> u32 { return STEP_PLACES + row * PLACE_WORDS + word; }
