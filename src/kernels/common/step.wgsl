// The step buffer and the KV cache as kernels read them; step.h describes both, step_test.cpp keeps the numbers equal.
const STEP_ROOM = 2048u;
const PAGE_TOKENS = 32u;

// Word offsets into the step buffer, array<u32>.
const STEP_TOKEN_COUNT = 0u;
const STEP_OUTPUT_COUNT = 1u;
const STEP_SPLIT_COUNT = 2u;
const STEP_SPLIT_TOKENS = 3u;
const STEP_SPLIT_LIMIT = 4u;
const STEP_CHOICES = 5u;
const STEP_GO_ON_COUNT = 6u;
const STEP_SINGLE_COUNT = 7u;
const STEP_ZEROS = 8u;
const STEP_TOKENS = 16u;
const STEP_POSITIONS = 2064u;
const STEP_SEQUENCES = 4112u;
const STEP_OUTPUT_ROWS = 6160u;
const STEP_WORDS = 8208u;

// Index of the page table entry that holds `position` of a sequence (a row of the table).
fn page_entry(sequence: u32, pages_per_sequence: u32, position: u32) -> u32 {
  return sequence * pages_per_sequence + position / PAGE_TOKENS;
}

// Head row of the cache, in units of head_dim elements: the row of `position` lies in slot position % PAGE_TOKENS of its page.
fn kv_row(page: u32, n_kv_heads: u32, head: u32, position: u32) -> u32 {
  return (page * n_kv_heads + head) * PAGE_TOKENS + position % PAGE_TOKENS;
}

// q8_0: word of the scale plane that holds the scales of elements d and (d ^ 32) of a head row; the low half is the even block's.
fn kv_scale_word(row: u32, head_dim: u32, d: u32) -> u32 {
  return row * ((head_dim + 63u) / 64u) + d / 64u;
}

// Added to the end of a loop, by the number of the turn: zero, read anew each turn, so that no compiler can tell how many turns there are. They
// would be written out eight times, and long texts cost time whenever kernels come in turn (docs/decisions/kernel-texts.md). TURNS, below, keeps
// only software adapters from it.
#define STAYS_A_LOOP(turn) step[STEP_ZEROS + ((turn) & 7u)]

// Turns of a loop. Where compilers of software adapters would unroll it, which takes them many seconds, a number that they cannot see through:
// no step has so many tokens.
#if ROLLED
#define TURNS(n) ((n) + (step[STEP_TOKEN_COUNT] >> 31u))
#else
#define TURNS(n) n
#endif
