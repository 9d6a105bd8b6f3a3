// The split products of split_tiles.h on processors with AMX for bf16: splitting activations and
// weights, and the tile instructions.
#include <immintrin.h>

#include <cstring>

#include "kernels/matmul/amx_ops.h"
#include "kernels/matmul/split_tiles.h"

namespace puna::kernels {
namespace {

#define PUNA_SPLIT_TARGET gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")

// GCC 12 says of the intrinsics without a mask that something is not initialized (PR 105593).
constexpr __mmask16 kAll = 0xffff;

[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512i widen(__m256i halves) {
  return _mm512_maskz_cvtepu16_epi32(kAll, halves);
}
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512i to_high_half(__m512i words) {
  return _mm512_maskz_slli_epi32(kAll, words, 16);
}
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512i first_of(__m512i both) {
  return widen(_mm512_maskz_extracti64x4_epi64(0xff, both, 0));
}
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512i second_of(__m512i both) {
  return widen(_mm512_maskz_extracti64x4_epi64(0xff, both, 1));
}

// Two vectors of 16 and what they are split into, 32 bf16 each: first those of `a`.
struct Parts {
  __m512i high, low;
};
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline Parts split(__m512 a, __m512 b) {
  const auto high = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
  const __m512 a_rest = _mm512_sub_ps(a, _mm512_castsi512_ps(to_high_half(first_of(high))));
  const __m512 b_rest = _mm512_sub_ps(b, _mm512_castsi512_ps(to_high_half(second_of(high))));
  return {high, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b_rest, a_rest))};
}

// 16 rows of one column of a packed group; zeros past the last.
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512 column(const MatmulJob& job,
                                                               const std::byte* group, uint32_t c) {
  if (c >= job.cols) return _mm512_setzero_ps();
  if (job.type == quant::Type::kF32)
    return _mm512_loadu_ps(group + size_t{c} * kGroupRows * sizeof(float));
  const __m256i words = _mm256_loadu_si256(
      reinterpret_cast<const __m256i*>(group + size_t{c} * kGroupRows * sizeof(uint16_t)));
  if (job.type == quant::Type::kF16) return _mm512_maskz_cvtph_ps(kAll, words);
  return _mm512_castsi512_ps(to_high_half(widen(words)));
}

// Elements of two vectors of 16 by turns.
[[PUNA_SPLIT_TARGET, gnu::always_inline]] inline __m512i by_turns(__m512i both) {
  return _mm512_or_si512(first_of(both), to_high_half(second_of(both)));
}

}  // namespace

bool bf16_matrix_runs_here() {
  static const bool kAnswer =
      amx_runs_here(kAmxTile | kAmxInt8 | kAmxBf16) && __builtin_cpu_supports("avx512bf16");
  return kAnswer;
}

[[PUNA_SPLIT_TARGET]] void unpack_split(const MatmulJob& job, uint32_t block, uint32_t unit,
                                        uint32_t n_units, SplitPanel& panel) {
  const uint32_t n_groups = (job.rows + kGroupRows - 1) / kGroupRows;
  for (uint32_t g = 0; g < 2; ++g) {
    const uint32_t index = 2 * block + g;
    if (index >= n_groups) {
      for (uint32_t u = 0; u < n_units; ++u) {
        for (auto& part : panel.words[u]) std::memset(part[g], 0, sizeof(part[g]));
      }
      continue;
    }
    const std::byte* group = job.packed + index * job.group_bytes;
    for (uint32_t u = 0; u < n_units; ++u) {
      for (uint32_t pair = 0; pair < kUnitCols / 2; ++pair) {
        const uint32_t c = (unit + u) * kUnitCols + 2 * pair;
        const Parts parts = split(column(job, group, c), column(job, group, c + 1));
        _mm512_store_si512(panel.words[u][0][g] + size_t{pair} * kUnitCols, by_turns(parts.high));
        _mm512_store_si512(panel.words[u][1][g] + size_t{pair} * kUnitCols, by_turns(parts.low));
      }
    }
  }
}

[[PUNA_SPLIT_TARGET]] void split_rows(const MatmulJob& job, uint32_t begin, uint32_t end) {
  const uint32_t n_units = (job.cols + kUnitCols - 1) / kUnitCols;
  for (uint32_t tile = begin; tile < end; ++tile) {
    uint16_t* const to = job.x_split + size_t{tile} * n_units * 2 * kSplitTileWords;
    for (uint32_t r = 0; r < kMatrixRows; ++r) {
      const uint32_t row = tile * kMatrixRows + r;
      const float* x = job.args.x + size_t{row} * job.args.x_stride;
      for (uint32_t unit = 0; unit < n_units; ++unit) {
        const uint32_t first = unit * kUnitCols;
        const uint32_t n = row < job.args.n_rows ? std::min(kUnitCols, job.cols - first) : 0;
        const auto mask = static_cast<uint32_t>((uint64_t{1} << n) - 1);
        const __m512 a = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), x + first);
        const __m512 b = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), x + first + 16);
        const Parts parts = split(a, b);
        uint16_t* at = to + size_t{unit} * 2 * kSplitTileWords + size_t{r} * kUnitCols;
        _mm512_store_si512(at, parts.high);
        _mm512_store_si512(at + kSplitTileWords, parts.low);
      }
    }
  }
}

void matmul_split_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  split_items_of<AmxOps>(job, begin, end);
}

}  // namespace puna::kernels
