// Looks up rows of a table: x[t, :] = scale * W[row[t], :], or added to x. The row of t is its
// token, its position, or 0. Tokens below zero stand for media: x[t, :] = media[-1 - token[t], :]
// where that is given, else row 0.
//   W      [vocab, hidden]     any weight type
//   x      [n_tokens, hidden]  f32
//   media  [any, hidden]       f32, or rows of more elements, of which these are the first
// Tokens and positions are valid: the engine checks them. (With W in several chunks each chunk
// writes the rows it holds.)
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/weight.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::kernels {

enum class EmbedRow : uint8_t { kToken, kPosition, kFirst };

// What tokens below zero get.
enum class EmbedMedia : uint8_t { kNone, kRows, kFirst };  // kNone: there are no such tokens

struct EmbedArgs {
  std::string label;
  GpuWeight weight;
  Slice step;
  Slice x;
  float scale = 1.0f;
  EmbedRow row = EmbedRow::kToken;
  bool add = false;
  EmbedMedia of_media = EmbedMedia::kNone;
  std::optional<Slice> media = {};  // for kRows
  uint32_t media_columns = 0;       // elements of one of its rows; 0: as many as x has
};
base::Result<void> embed(const gpu::DeviceInfo& device, const EmbedArgs& args,
                         std::vector<KernelCall>& out);

struct EmbedCpuArgs {
  const CpuMatrix* weight = nullptr;
  const int32_t* rows = nullptr;  // [n_tokens]; null: row 0
  uint32_t n_tokens = 0;
  float* x = nullptr;  // [n_tokens, cols]
  float scale = 1.0f;
  bool add = false;
  const float* media = nullptr;  // null: such tokens get row 0
  uint32_t media_columns = 0;    // elements of one of its rows; 0: as many as x has
};
void embed_cpu(base::ThreadPool& pool, const EmbedCpuArgs& args);

}  // namespace puna::kernels
