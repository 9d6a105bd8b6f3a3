// Streams weights from a model file into the buffers of a GpuProgram: through a ring of four 1 MiB
// staging buffers, repacked into planes by a kernel on the way, so that the host never holds more
// than a few pieces.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"
#include "formats/model_file.h"
#include "plan/gpu_program.h"

namespace puna::engine {

constexpr uint64_t kStagingPieces = 4;
constexpr uint64_t kStagingPieceBytes = 1 << 20;
constexpr uint64_t kStagingBytes = kStagingPieces * kStagingPieceBytes;

// Also has the program's kernels compiled, behind its own: where the device does so beside other
// work, weights are on their way meanwhile. Errors: those of reading (naming the tensor) and of the
// device; kCancelled.
base::Task<base::Result<void>> load_weights(const formats::ModelFile& file,
                                            const plan::Graph& graph, plan::GpuProgram& program,
                                            gpu::Device& device, const LoadHooks& hooks);

}  // namespace puna::engine
