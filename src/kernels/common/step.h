// The step buffer: what changes from step to step, in one small GPU buffer, so that command lists
// can be replayed. step.wgsl declares the same layout. All words are u32.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace puna::kernels {

// The batch class of steps with prompts that every plan has; where larger ones pay, and for media
// whose rows attend to each other and therefore stand in one step, there is one more.
constexpr uint32_t kMaxStepTokens = 512;
// Rows that the step buffer has room for: those of the largest step.
constexpr uint32_t kStepRoom = 2048;
// Of steps that are no tokens, and whose rows nothing but their number is known of (those of
// encoders): rows lie along one dimension of a dispatch.
constexpr uint32_t kMaxStepRows = 65535;
constexpr uint32_t kPageTokens = 32;  // tokens per KV page
// Pages that hold so many tokens.
constexpr uint64_t pages_for(uint64_t n_tokens) {
  return (n_tokens + kPageTokens - 1) / kPageTokens;
}

// Word offsets.
constexpr uint32_t kStepTokenCount = 0;   // n_tokens
constexpr uint32_t kStepOutputCount = 1;  // n_outputs
constexpr uint32_t kStepSplitCount = 2;   // attention splits used in this step
constexpr uint32_t kStepSplitTokens = 3;  // fewest KV tokens of a split, a multiple of kPageTokens
constexpr uint32_t kStepSplitLimit =
    4;  // the most splits of steps that advance makes (sample/sample.h)
constexpr uint32_t kStepChoices = 5;    // how often advance has run since the host wrote the step
constexpr uint32_t kStepGoOnCount = 6;  // outputs, the first ones, of which advance makes a step
// The first rows of a step of prompts, each the only one of its sequence (StepShape::n_singles).
constexpr uint32_t kStepSingleCount = 7;
// Eight words that are always zero, for loops that are to stay loops (step.wgsl).
constexpr uint32_t kStepZeros = 8;
constexpr uint32_t kStepTokens = 16;  // token id of each row
// Absolute position of each row in its sequence.
constexpr uint32_t kStepPositions = kStepTokens + kStepRoom;
// Row of the page table of each row.
constexpr uint32_t kStepSequences = kStepPositions + kStepRoom;
// Which rows' logits are wanted, n_outputs of them.
constexpr uint32_t kStepOutputRows = kStepSequences + kStepRoom;
constexpr uint32_t kStepWords = kStepOutputRows + kStepRoom;

// How a row stands to the media of its sequence; all zeros for a row of a text without any. For
// kernels that are told to ask: those of a graph that takes media and needs it.
struct RowPlace {
  // Added to its position in the sequence: its rotary positions (time, height and width), and what
  // is added for the row after it, all three alike.
  std::array<int32_t, 3> turns = {};
  int32_t next = 0;
  // Rows of its sequence right before and after it that it attends to besides those that it would.
  uint32_t before = 0, after = 0;
  bool operator==(const RowPlace&) const = default;
};
// Behind kStepWords in the step buffers of such graphs: RowPlace[kStepRoom], by row.
constexpr uint32_t kStepPlaces = kStepWords;
constexpr uint32_t kPlaceWords = sizeof(RowPlace) / sizeof(uint32_t);
constexpr uint32_t kStepWordsOfMedia = kStepPlaces + kPlaceWords * kStepRoom;

// The page table: u32 pages[n_sequences][pages_per_sequence], the physical page of each logical
// page of 32 tokens.

// KV cache of one layer: K and V are separate slices of one layout. Element (page, head, slot, d),
// d innermost:
//   ((page * n_kv_heads + head) * kPageTokens + slot) * head_dim + d
//   f32   4 bytes an element
//   f16   2 bytes, two to a u32 word
//   q8_0  signed bytes, four to a word, as a plane of n_pages * n_kv_heads * 32 * head_dim bytes,
//         followed (256-aligned) by a plane of f16 scales, one per 32 elements of a head: word
//         ((page * n_kv_heads + head) * 32 + slot) * ceil(head_dim / 64) + d / 64
//   q4_0  the same with codes of four bits, eight to a word, the first in the lowest; element =
//   (code
//         - 8) * scale
enum class KvType : uint8_t { kF32, kF16, kQ8_0, kQ4_0 };
std::string_view name(KvType type);  // "f32", "f16", "q8_0", "q4_0"
std::optional<KvType> kv_type_named(std::string_view name);
inline bool is_block(KvType type) { return type == KvType::kQ8_0 || type == KvType::kQ4_0; }

struct KvLayout {
  KvType type = KvType::kF16;
  uint32_t n_pages = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;           // a multiple of 32 for q8_0 and q4_0, of 4 otherwise
  uint64_t scales_offset() const;  // bytes from the start of the slice; 0 unless q8_0 or q4_0
  uint64_t bytes() const;          // of one slice (K or V)

  struct Range {
    uint64_t offset = 0, bytes = 0;  // multiples of 4
  };
  // Where a page lies in a slice: its rows, and for q8_0 and q4_0 the scales of these; else the
  // second range is empty.
  std::array<Range, 2> page(uint32_t index) const;
};

// One step on the CPU: the same values as the step buffer, as arrays.
struct CpuStep {
  uint32_t n_tokens = 0;
  const int32_t* positions = nullptr;   // [n_tokens]
  const uint32_t* sequences = nullptr;  // [n_tokens], rows of the page table
  const uint32_t* pages = nullptr;      // [n_sequences, pages_per_sequence]
  uint32_t pages_per_sequence = 0;
  const RowPlace* places = nullptr;  // [n_tokens]; null: all zeros
};

}  // namespace puna::kernels
