// Matrix tiles of x86 processors with AMX for int8.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/matmul/amx_ops.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {
namespace {

// What the processor has and the system saves when it changes threads.
bool has_tiles(uint32_t features) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kOsXsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kOsXsave) == 0) return false;
  uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTileState = 3u << 17;
  if ((low & kTileState) != kTileState || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d & features) == features;
}

// Linux gives the state of tiles to processes that ask for it: Documentation/arch/x86/xstate.rst.
bool may_use_tiles() {
  constexpr long kRequestState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  static const bool kAnswer = syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
  return kAnswer;
}

}  // namespace

bool amx_runs_here(uint32_t features) { return has_tiles(features) && may_use_tiles(); }

bool int8_matrix_runs_here() {
  static const bool kAnswer = amx_runs_here(kAmxTile | kAmxInt8);
  return kAnswer;
}

void matmul_matrix_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  matrix_items<AmxOps>(job, begin, end);
}

}  // namespace puna::kernels
