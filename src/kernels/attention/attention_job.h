// How attention_cpu.cpp cuts a step into items for the kernels of attention_tile_cpu.cpp (many
// query rows) and attention_row_cpu.cpp (one token).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/attention.h"

namespace puna::kernels {

// Query rows (tokens times heads of one kv head) that a tile holds side by side, unless one token
// alone has more.
constexpr uint32_t kTileQueries = 64;
constexpr uint32_t kMaxSplits = 64;

struct AttentionJob {
  AttentionCpuArgs args;
  uint32_t group = 1;  // query heads a kv head
  uint32_t v_dim = 0;
  uint32_t n_tiles = 0;  // runs of tokens of one sequence, at most kTileQueries / group each
  std::vector<uint32_t> starts;  // tile i is tokens starts[i] .. starts[i + 1] - 1
  uint32_t n_splits = 1;         // pieces that the keys of a one-token tile are cut into
  float* work = nullptr;         // work_floats a thread
  uint64_t work_floats = 0;
  float* partials = nullptr;  // [tile][kv head][split][group][2 + v_dim]: largest score, sum of
                              // weights, weighted values
};

// Positions the token sees: [first, end).
struct KeyRange {
  uint32_t first = 0;
  uint32_t end = 0;
};
inline KeyRange key_range(const AttentionCpuArgs& args, uint32_t token) {
  const CpuStep& step = args.step;
  if (args.spans) return {args.spans[2 * size_t{token}], args.spans[2 * size_t{token} + 1]};
  if (args.own) return {0, step.n_tokens};
  uint32_t end = static_cast<uint32_t>(step.positions[token]) + 1;
  if (!args.causal) {
    for (uint32_t t = 0; t < step.n_tokens; ++t) {
      if (step.sequences[t] == step.sequences[token])
        end = std::max(end, static_cast<uint32_t>(step.positions[t]) + 1);
    }
  }
  KeyRange usual = {args.window != 0 && end > args.window ? end - args.window : 0, end};
  if (!args.causal && args.window != 0) {
    const uint32_t next = static_cast<uint32_t>(step.positions[token]) + 1;
    usual = {next > args.window ? next - args.window : 0, std::min(end, next - 1 + args.window)};
  }
  if (args.window != 0 && args.chunks) usual.first = (end - 1) / args.window * args.window;
  if (!step.places) return usual;
  const RowPlace& place = step.places[token];
  return {std::min(usual.first, end - 1 - place.before), end + place.after};
}

inline const uint32_t* pages_of(const AttentionCpuArgs& args, uint32_t token) {
  return args.step.pages + uint64_t{args.step.sequences[token]} * args.step.pages_per_sequence;
}

// Tile of tokens [begin, end), all heads of one kv head, through to args.out.
void attention_tile(const AttentionJob& job, uint32_t begin, uint32_t end, uint32_t kv_head,
                    float* work);
// One token, keys [first, end) of one kv head: unnormalised results to partial [group][2 +
// v_dim]. The first piece of a token's keys takes the sinks along.
void attention_row(const AttentionJob& job, uint32_t token, uint32_t kv_head, KeyRange keys,
                   bool is_first, float* work, float* partial);

}  // namespace puna::kernels
