// Few activation rows by types whose blocks are several units.
#include "kernels/matmul/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_few_large_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/matmul_few-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

void few_large(const MatmulJob& job, uint32_t begin, uint32_t end) {
  few_items_of<LargeBlocks>(job, begin, end);
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(few_large);

void matmul_few_large_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(few_large)(job, begin, end);
}

}  // namespace puna::kernels
#endif
