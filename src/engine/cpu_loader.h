// Loads weights for the CPU device: all packed matrices lie in one piece of memory, filled by all
// threads at once where the file can be read by several.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "engine/executor.h"
#include "formats/model_file.h"
#include "plan/cpu_program.h"

namespace puna::engine {

// A table that is only looked up in stays where it lies when its file is mapped. `lock` keeps the
// weights from being swapped out. Errors: those of reading (naming the tensor); kOutOfMemory;
// kUnsupported when memory cannot be locked; kCancelled.
base::Task<base::Result<plan::CpuWeights>> load_cpu_weights(const formats::ModelFile& file,
                                                            const plan::Graph& graph,
                                                            kernels::Numerics numerics, bool lock,
                                                            base::ThreadPool& pool,
                                                            const LoadHooks& hooks);

// A program with its weights. Errors: those above and of CpuProgram::create().
base::Task<base::Result<std::unique_ptr<plan::CpuProgram>>> load_cpu_program(
    const formats::ModelFile& file, plan::Graph graph, const plan::CacheConfig& cache,
    const CpuOptions& options, base::ThreadPool& pool, const LoadHooks& hooks);

}  // namespace puna::engine
