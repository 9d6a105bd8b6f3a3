// What an op is: a struct that says what is computed of which operands, in a file pair of its own
// that has all the plan knows of it. Here is what each provides; op.h lists them all.
//
//   struct GateOp {
//     std::string label;  // "blk.3.ffn_down"; static where all of a kind are called the same
//     ValueId x, y;
//     // Calls use(value, Use) for each value it works on, once.
//     static void values(auto& op, auto&& use);
//     // Appends the calls that compute it on a GPU.
//     base::Result<void> lower(const GpuLowering&, std::vector<kernels::KernelCall>&) const;
//     // Computes it on the CPU.
//     void run(const CpuRun&) const;
//   };
//
// And where there is something to say:
//
//   // A row of the result is made of the same row of what it reads, wherever it stands.
//   static constexpr bool kKeepsRowsApart = true;
//   // What it multiplies by or looks up in.
//   std::vector<WeightId> weights() const;
//   // What else of the file lower() asks for.
//   std::vector<Constant> constants() const;
//   // What it needs beside its values while it runs.
//   uint64_t gpu_scratch_bytes(const GpuLowering&) const;
//   uint64_t cpu_scratch_bytes(const Graph&, uint32_t rows, int n_threads) const;
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/common/call.h"
#include "plan/operands.h"

namespace puna::plan {

struct Graph;
struct GpuLowering;  // gpu_lowering.h
struct CpuRun;       // cpu_run.h

// What an op does to a value: an update in place reads it and writes it.
enum class Use : uint8_t { kRead, kWrite, kUpdate };

template <class T>
concept IsOp =
    requires(T& op, const T& read_only, void (&use)(ValueId, Use), const GpuLowering& lowering,
             std::vector<kernels::KernelCall>& calls, const CpuRun& run) {
      { std::string(read_only.label) };
      T::values(op, use);
      T::values(read_only, use);
      { read_only.lower(lowering, calls) } -> std::same_as<base::Result<void>>;
      { read_only.run(run) } -> std::same_as<void>;
    };

}  // namespace puna::plan
