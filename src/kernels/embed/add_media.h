// Adds to rows that media brought (embed.h) further elements of theirs: x[t, :] += media[-1 -
// token[t], first ..] where the token is below zero; other rows stay.
//   x      [n_tokens, n]     f32
//   media  [any, columns]    f32; first + n <= columns
// Source: DeepStack (Meng et al. 2024), as Qwen3-VL's text model has it.
#pragma once

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/step.h"

namespace puna::kernels {

struct AddMediaShape {
  uint32_t n = 0;
  uint32_t first = 0;
  uint32_t columns = 0;
};

struct AddMediaArgs {
  std::string label;
  Slice step = {};
  Slice media = {};
  Slice x = {};
  AddMediaShape shape = {};
};
base::Result<void> add_media(const gpu::DeviceInfo& device, const AddMediaArgs& args,
                             std::vector<KernelCall>& out);

struct AddMediaCpuArgs {
  const int32_t* tokens = nullptr;  // [n_tokens]
  uint32_t n_tokens = 0;
  const float* media = nullptr;
  float* x = nullptr;
  AddMediaShape shape = {};
};
void add_media_cpu(base::ThreadPool& pool, const AddMediaCpuArgs& args);

}  // namespace puna::kernels
