// Looks up token embeddings: x[t, :] = scale * W[token[t], :].
//   W    [vocab, hidden]     any weight type
//   x    [n_tokens, hidden]  f32
// Token ids are valid: the engine checks them. (With W in several chunks each chunk writes the rows
// it holds.)
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/weight.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::kernels {

struct EmbedArgs {
  std::string label;
  GpuWeight weight;
  Slice step;
  Slice x;
  float scale = 1.0f;
};
base::Result<void> embed(const gpu::DeviceInfo& device, const EmbedArgs& args,
                         std::vector<KernelCall>& out);

struct EmbedCpuArgs {
  const CpuMatrix* weight = nullptr;
  const int32_t* tokens = nullptr;
  uint32_t n_tokens = 0;
  float* x = nullptr;  // [n_tokens, cols]
  float scale = 1.0f;
};
void embed_cpu(base::ThreadPool& pool, const EmbedCpuArgs& args);

}  // namespace puna::kernels
