// Matrix tiles of x86 processors with AMX for int8.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/matmul/matrix_tiles.h"

namespace puna::kernels {
namespace {

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
};

// What the processor has and the system saves when it changes threads.
bool has_tiles() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kOsXsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kOsXsave) == 0) return false;
  uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTileState = 3u << 17;
  if ((low & kTileState) != kTileState || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr uint32_t kTile = 1u << 24, kInt8 = 1u << 25;
  return (d & (kTile | kInt8)) == (kTile | kInt8);
}

// Linux gives the state of tiles to processes that ask for it: Documentation/arch/x86/xstate.rst.
bool may_use_tiles() {
  constexpr long kRequestState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
}

}  // namespace

bool int8_matrix_runs_here() {
  static const bool kAnswer = has_tiles() && may_use_tiles();
  return kAnswer;
}

void matmul_matrix_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  matrix_items<AmxOps>(job, begin, end);
}

}  // namespace puna::kernels
