// The tile instructions of x86 processors with AMX: Ops of matrix_tiles.h and split_tiles.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matrix_tiles.h"

namespace puna::kernels {

// Bits of EDX of CPUID leaf 7.
constexpr uint32_t kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
// Whether the processor has all of these, and the system saves tiles when it changes threads and
// lets this process use them.
bool amx_runs_here(uint32_t features);

// The numbers of the registers are template arguments, which the intrinsics of GCC 12 cannot take:
// they paste the number's text into the instruction.
struct AmxOps {
  static void configure(const TileConfig& config) { asm volatile("ldtilecfg %0" ::"m"(config)); }
  static void release() { asm volatile("tilerelease"); }
  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  static void load(const void* from, size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  static void store(void* to, size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  // Adds the products of signed bytes with unsigned ones, four to a sum.
  template <int kSums, int kSigned, int kUnsigned>
  static void multiply() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kSigned), "i"(kUnsigned));
  }
  // Adds the products of bf16, two to a sum in f32.
  template <int kSums, int kX, int kWeights>
  static void multiply_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kX), "i"(kWeights));
  }
};

}  // namespace puna::kernels
