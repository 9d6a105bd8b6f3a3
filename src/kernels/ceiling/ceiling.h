// What a device can do at most, measured: the figures that a kernel's speed is held against.
#pragma once

#include "base/thread_pool.h"
#include "kernels/common/workbench.h"

namespace puna::kernels {

struct Ceilings {
  double read_gb_per_s = 0;  // plain reads of memory, beyond the caches
  double f32_tflops = 0;     // fused multiply-adds, two operations each
  double f16_tflops = 0;     // the same on pairs of f16; 0 where the device has none
  double int8_tops = 0;      // products of int8 with their sums, two operations each
};

// Takes up to half a gigabyte of device memory and less than a second; a software adapter gets less
// work. Errors: kOutOfMemory, kDevice.
base::Result<Ceilings> measure_ceilings(gpu::Device& device);
// Of the CPU, with all threads of the pool and the running variant; takes a quarter of a gigabyte.
// Errors: kOutOfMemory.
base::Result<Ceilings> measure_ceilings(base::ThreadPool& pool);

// The calls behind it, for tests and for compiling them: reading all of `data`, a multiple of
// kReadBytes; and one of the arithmetic kernels.
constexpr uint64_t kReadBytes = 256 * 8 * 16;  // of a workgroup
enum class Arithmetic : uint8_t { kF32, kF16, kInt8 };
KernelCall read_call(const Slice& data, const Slice& out);
KernelCall arithmetic_call(Arithmetic arithmetic, uint32_t n_workgroups, uint32_t n_loops,
                           const Slice& data, const Slice& out);
double arithmetic_ops(uint32_t n_workgroups, uint32_t n_loops, Arithmetic arithmetic);

}  // namespace puna::kernels
