// Products of many activation rows on 64-bit Arm processors with FEAT_I8MM: one smmla multiplies
// two weight rows by two activation rows, eight columns of each. Arm Architecture Reference Manual
// for A-profile, C7.2, SMMLA (vector).
#include <arm_neon.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "kernels/matmul/panel.h"

// In this form both GCC and Clang know it.
#define PUNA_I8MM [[gnu::target("arch=armv8.2-a+i8mm")]]

namespace puna::kernels {
namespace {

// What a tile keeps in registers: the sums of these rows as floats, and as integers in pairs.
constexpr size_t kTileX = 4;
constexpr size_t kTileWeights = 8;
constexpr size_t kPieceCols = 16;

// Adds n_units of a panel to the sums of 4 activation rows by 8 weight rows.
template <size_t kHalves, bool kBytes>
struct Tile {
  const int8_t* x;       // [units][16 rows][32 columns], from the first row of four on
  const float* scale;    // [units][16 rows]
  const float* x_sums;   // [units][kHalves][16 rows]
  const uint8_t* codes;  // [units][8][16 rows][4 columns], from the first row of eight on
  const float *a, *b;    // [units][kHalves][16 rows]

  // Weight rows 2 i and 2 i + 1, columns 4 step to 4 step + 7.
  PUNA_I8MM inline void load_pairs(size_t step, int8x16_t (&pairs)[kTileWeights / 2]) const {
    for (size_t i = 0; i < kTileWeights / 4; ++i) {
      const uint8_t* from = codes + step * (4 * kGroupRows) + i * 16;
      uint8x16_t low = vld1q_u8(from);
      uint8x16_t high = vld1q_u8(from + 4 * kGroupRows);
      if constexpr (kBytes) {  // codes of eight bits are numbers with 128 added
        low = veorq_u8(low, vdupq_n_u8(0x80));
        high = veorq_u8(high, vdupq_n_u8(0x80));
      }
      const uint32x4_t low_rows = vreinterpretq_u32_u8(low);
      const uint32x4_t high_rows = vreinterpretq_u32_u8(high);
      pairs[2 * i] = vreinterpretq_s8_u32(vzip1q_u32(low_rows, high_rows));
      pairs[2 * i + 1] = vreinterpretq_s8_u32(vzip2q_u32(low_rows, high_rows));
    }
  }

  // sums[i][j] += weight rows 2 i, 2 i + 1 by activation rows 2 j, 2 j + 1, over 16 columns.
  PUNA_I8MM inline void multiply(size_t unit, size_t piece,
                                 int32x4_t (&sums)[kTileWeights / 2][kTileX / 2]) const {
    const size_t step = unit * 8 + piece * (kPieceCols / 4);
    int8x16_t first[kTileWeights / 2], second[kTileWeights / 2];
    load_pairs(step, first);
    load_pairs(step + 2, second);
    for (size_t j = 0; j < kTileX / 2; ++j) {
      const int8_t* rows = x + (unit * kMatrixRows + 2 * j) * kUnitCols + piece * kPieceCols;
      const int64x2_t even = vreinterpretq_s64_s8(vld1q_s8(rows));
      const int64x2_t odd = vreinterpretq_s64_s8(vld1q_s8(rows + kUnitCols));
      const int8x16_t x_first = vreinterpretq_s8_s64(vzip1q_s64(even, odd));
      const int8x16_t x_second = vreinterpretq_s8_s64(vzip2q_s64(even, odd));
      for (size_t i = 0; i < kTileWeights / 2; ++i) {
        sums[i][j] = vmmlaq_s32(sums[i][j], first[i], x_first);
        sums[i][j] = vmmlaq_s32(sums[i][j], second[i], x_second);
      }
    }
  }

  // As the other kernels do it (Rows::half), so that results are the same to the bit.
  PUNA_I8MM static inline float32x4_t scaled(float32x4_t f, int32x4_t sum, float x_scale,
                                             float x_sum, float32x4_t a, float32x4_t b) {
    f = vfmaq_f32(f, vmulq_n_f32(vcvtq_f32_s32(sum), x_scale), a);
    return vfmaq_n_f32(f, b, x_sum);
  }

  PUNA_I8MM void run(size_t n_units, bool is_first, float* out) const {
    float32x4_t f[kTileX][kTileWeights / 4];
    for (size_t t = 0; t < kTileX; ++t) {
      for (size_t i = 0; i < kTileWeights / 4; ++i)
        f[t][i] = is_first ? vdupq_n_f32(0) : vld1q_f32(out + t * kGroupRows + 4 * i);
    }
    for (size_t product = 0; product < n_units * kHalves; ++product) {
      const size_t unit = product / kHalves;
      int32x4_t sums[kTileWeights / 2][kTileX / 2] = {};
      for (size_t piece = 0; piece < 2 / kHalves; ++piece)
        multiply(unit, product % kHalves + piece, sums);
      const float* x_scale = scale + unit * kMatrixRows;
      const float* x_sum = x_sums + product * kMatrixRows;
      for (size_t i = 0; i < kTileWeights / 4; ++i) {
        const float32x4_t weight_a = vld1q_f32(a + product * kGroupRows + 4 * i);
        const float32x4_t weight_b = vld1q_f32(b + product * kGroupRows + 4 * i);
        for (size_t j = 0; j < kTileX / 2; ++j) {
          const int32x4_t even = vuzp1q_s32(sums[2 * i][j], sums[2 * i + 1][j]);
          const int32x4_t odd = vuzp2q_s32(sums[2 * i][j], sums[2 * i + 1][j]);
          const size_t t = 2 * j;
          f[t][i] = scaled(f[t][i], even, x_scale[t], x_sum[t], weight_a, weight_b);
          f[t + 1][i] = scaled(f[t + 1][i], odd, x_scale[t + 1], x_sum[t + 1], weight_a, weight_b);
        }
      }
    }
    for (size_t t = 0; t < kTileX; ++t) {
      for (size_t i = 0; i < kTileWeights / 4; ++i)
        vst1q_f32(out + t * kGroupRows + 4 * i, f[t][i]);
    }
  }
};

template <size_t kHalves, bool kBytes>
void multiply_by_matrices(const MatmulJob& job, const Panel& panel, uint32_t unit, uint32_t n_units,
                          uint32_t first, uint32_t n, float* sums) {
  const QuantizedRows& x = job.x8;
  for (size_t t = 0; t < n; t += kTileX) {
    const size_t row = first + t;
    const size_t place = row % kMatrixRows;
    const size_t at = (row / kMatrixRows * x.units + unit) * kMatrixRows;
    const float* x_sums = kHalves == 2 ? x.half_sums + at * 2 : x.sums + at;
    for (size_t w = 0; w < kGroupRows; w += kTileWeights) {
      const Tile<kHalves, kBytes> tile{.x = x.codes + (at + place) * kUnitCols,
                                       .scale = x.scale + at + place,
                                       .x_sums = x_sums + place,
                                       .codes = panel.codes + 4 * w,
                                       .a = panel.a + w,
                                       .b = panel.b + w};
      tile.run(n_units, unit == 0, sums + t * kGroupRows + w);
    }
  }
}

#if defined(__APPLE__)
bool has(const char* feature) {
  int answer = 0;
  size_t size = sizeof(answer);
  return sysctlbyname(feature, &answer, &size, nullptr, 0) == 0 && answer != 0;
}
#endif

}  // namespace

bool int8_matrix_runs_here() {
#if defined(__APPLE__)
  return has("hw.optional.arm.FEAT_I8MM");
#else
  return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
}

bool dot_products_run_here() {
#if defined(__APPLE__)
  return has("hw.optional.arm.FEAT_DotProd");
#else
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#endif
}

void matmul_matrix_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  const PanelFormat format = panel_format(job.type);
  const bool bytes = format.max_code > 127;
  MultiplyPanel multiply = nullptr;
  if (format.halves == 2) {
    multiply = bytes ? multiply_by_matrices<2, true> : multiply_by_matrices<2, false>;
  } else {
    multiply = bytes ? multiply_by_matrices<1, true> : multiply_by_matrices<1, false>;
  }
  matmul_many_items(job, begin, end, multiply);
}

}  // namespace puna::kernels
