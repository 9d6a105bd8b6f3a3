// Few activation rows by the other types whose blocks are several units.
#include "kernels/matmul/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_few_other_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/matmul_few-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

void few_other(const MatmulJob& job, uint32_t begin, uint32_t end) {
  few_items_of<OtherBlocks>(job, begin, end);
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(few_other);

void matmul_few_other_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(few_other)(job, begin, end);
}

}  // namespace puna::kernels
#endif
