#include "kernels/ceiling/ceiling.h"

#include <algorithm>

#include "gpu/timing.h"
#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

using base::Result;

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kLoads = kReadBytes / 16 / kWorkgroup;
constexpr uint64_t kColdBytes = uint64_t{512} << 20;  // more than any cache
constexpr uint64_t kSoftwareBytes = uint64_t{16}
                                    << 20;  // a software adapter has no memory of its own
constexpr uint32_t kUnrolled = 4;           // in arithmetic.wgsl
constexpr uint32_t kMaxGrid = 32768;
constexpr double kEnoughMs = 20;
constexpr int kTries = 3;

// Vectors of four floats, or words.
uint32_t chains(Arithmetic arithmetic) { return arithmetic == Arithmetic::kInt8 ? 16 : 8; }

Result<double> measure_read(gpu::Device& device) {
  Workbench bench(device);
  const bool software = device.info().type == gpu::AdapterType::kSoftware;
  const gpu::Limits& limits = device.info().limits;
  const uint64_t total = software ? kSoftwareBytes : kColdBytes;
  const uint64_t each = std::min({total, limits.max_binding_bytes, limits.max_buffer_bytes}) /
                        kReadBytes * kReadBytes;
  PUNA_TRY(const Slice out, bench.output(4));
  gpu::CommandList list;
  uint64_t bytes = 0;
  for (; bytes < total; bytes += each) {
    PUNA_TRY(const Slice data, bench.pattern(each, Workbench::kActivations));
    const KernelCall call = read_call(data, out);
    PUNA_TRY(bench.record(std::span(&call, 1), {}, list));
  }
  PUNA_TRY(const double us, gpu::pass_us(device, list, kEnoughMs, kTries));
  return static_cast<double>(bytes) / us / 1e3;
}

Result<double> measure_arithmetic(gpu::Device& device, Arithmetic arithmetic) {
  Workbench bench(device);
  const bool software = device.info().type == gpu::AdapterType::kSoftware;
  const uint32_t n_workgroups = software ? 16 : 4096;
  const uint32_t n_loops = software ? 16 : 64;
  PUNA_TRY(const Slice data, bench.pattern(kWorkgroup * 16, Workbench::kActivations));
  PUNA_TRY(const Slice out, bench.output(4));
  const KernelCall call = arithmetic_call(arithmetic, n_workgroups, n_loops, data, out);
  gpu::CommandList list;
  PUNA_TRY(bench.record(std::span(&call, 1), {}, list));
  PUNA_TRY(const double us, gpu::pass_us(device, list, kEnoughMs, kTries));
  return arithmetic_ops(n_workgroups, n_loops, arithmetic) / us / 1e6;
}

}  // namespace

KernelCall read_call(const Slice& data, const Slice& out) {
  std::vector<KernelCall> calls;
  Describe call("plain read", "ceiling/read.wgsl");
  call.constant("B_DATA", data).arena("B_OUT", out);
  const uint32_t n = static_cast<uint32_t>(data.bytes / kReadBytes);
  const uint32_t y = div_up(n, kMaxGrid);
  call.number("WG", kWorkgroup)
      .number("LOADS", kLoads)
      .number("COUNT", n)
      .number("GRID_X", div_up(n, y));
  call.grid({Extent::kOne, div_up(n, y), 1}, {Extent::kOne, y, 1}).add_to(calls);
  return calls.front();
}

KernelCall arithmetic_call(Arithmetic arithmetic, uint32_t n_workgroups, uint32_t n_loops,
                           const Slice& data, const Slice& out) {
  std::vector<KernelCall> calls;
  Describe call("arithmetic", "ceiling/arithmetic.wgsl");
  call.constant("B_DATA", data).arena("B_OUT", out);
  call.number("WG", kWorkgroup).number("LOOPS", n_loops).number("CHAINS", chains(arithmetic));
  call.number("INT8", arithmetic == Arithmetic::kInt8);
  call.text("NUMBER", arithmetic == Arithmetic::kF16 ? "f16" : "f32");
  call.grid({Extent::kOne, n_workgroups, 1}).add_to(calls);
  return calls.front();
}

double arithmetic_ops(uint32_t n_workgroups, uint32_t n_loops, Arithmetic arithmetic) {
  constexpr double kOpsOfStep = 8;  // four lanes, or four products of a dot, with their sums
  return kOpsOfStep * chains(arithmetic) * kUnrolled * n_loops * n_workgroups * kWorkgroup;
}

Result<Ceilings> measure_ceilings(gpu::Device& device) {
  Ceilings out;
  PUNA_TRY(out.read_gb_per_s, measure_read(device));
  PUNA_TRY(out.f32_tflops, measure_arithmetic(device, Arithmetic::kF32));
  if (device.info().f16) {
    PUNA_TRY(out.f16_tflops, measure_arithmetic(device, Arithmetic::kF16));
  }
  PUNA_TRY(out.int8_tops, measure_arithmetic(device, Arithmetic::kInt8));
  return out;
}

}  // namespace puna::kernels
