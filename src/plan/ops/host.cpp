#include "plan/ops/host.h"

#include "base/check.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> HostOp::lower(const GpuLowering&, std::vector<KernelCall>&) const { return {}; }

void HostOp::run(const CpuRun&) const { PUNA_CHECK(false); }

}  // namespace puna::plan
