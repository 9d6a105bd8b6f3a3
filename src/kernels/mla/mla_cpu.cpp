// CPU form of mla.h: tokens over threads, plain loops; the products around it are what takes time.
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/common/kv_ref.h"
#include "kernels/mla/mla.h"

namespace puna::kernels {
namespace {

struct Turn {
  float cos, sin;
};

// Of every pair at a position: whole turns fall out of the 64-bit product.
void turn_token(const std::vector<uint32_t>& table, int32_t position, float magnitude,
                std::vector<Turn>& turns) {
  for (size_t i = 0; i < turns.size(); ++i) {
    const uint64_t fraction = uint64_t{table[2 * i]} << 32 | table[2 * i + 1];
    const auto turned = static_cast<int64_t>(fraction * static_cast<uint64_t>(position));
    const double angle = static_cast<double>(turned) * (6.283185307179586 * 0x1p-64);
    turns[i] = {magnitude * static_cast<float>(std::cos(angle)),
                magnitude * static_cast<float>(std::sin(angle))};
  }
}

void rotate(const RopeParams& rope, const std::vector<Turn>& turns, const float* in, float* out) {
  const bool neox = rope.pairs == RopePairs::kNeox;
  for (size_t i = 0; i < turns.size(); ++i) {
    const size_t a = neox ? i : 2 * i;
    const size_t b = neox ? i + turns.size() : 2 * i + 1;
    const float x = in[a];
    const float y = in[b];
    out[a] = x * turns[i].cos - y * turns[i].sin;
    out[b] = x * turns[i].sin + y * turns[i].cos;
  }
}

void append_token(const MlaCpuArgs& args, uint32_t t, const std::vector<Turn>& turns,
                  std::vector<float>& row) {
  const MlaShape& shape = args.shape;
  for (uint32_t h = 0; h < shape.n_heads; ++h) {
    const size_t head = size_t{t} * shape.n_heads + h;
    rotate(shape.rope, turns, args.q + head * shape.q_dim() + shape.n_nope,
           args.q_out + head * shape.k_dim() + shape.n_latent);
  }
  const float* kv = args.kv + size_t{t} * shape.k_dim();
  float squares = 0;
  for (uint32_t i = 0; i < shape.n_latent; ++i) squares += kv[i] * kv[i];
  const float inverse =
      1.0f / std::sqrt(squares / static_cast<float>(shape.n_latent) + shape.norm_eps);
  for (uint32_t i = 0; i < shape.n_latent; ++i) row[i] = kv[i] * inverse * args.gamma[i];
  rotate(shape.rope, turns, kv + shape.n_latent, row.data() + shape.n_latent);
  const auto position = static_cast<uint32_t>(args.step.positions[t]);
  const uint32_t page =
      args.step.pages[size_t{args.step.sequences[t]} * args.step.pages_per_sequence +
                      position / kPageTokens];
  kv_store_ref(args.layout, args.k_cache, kv_row(args.layout, page, 0, position % kPageTokens),
               row.data());
}

}  // namespace

void mla_append_cpu(base::ThreadPool& pool, const MlaCpuArgs& args) {
  const RopeParams& rope = args.shape.rope;
  const std::vector<uint32_t> table = rope_table(rope, args.freq_factors);
  const auto tokens = [&](uint32_t begin, uint32_t end) {
    std::vector<Turn> turns(rope.n_rot / 2);
    std::vector<float> row(args.shape.k_dim());
    for (uint32_t t = begin; t < end; ++t) {
      turn_token(table, args.step.positions[t], rope.magnitude, turns);
      append_token(args, t, turns, row);
    }
  };
  pool.run(args.step.n_tokens, 4, std::ref(tokens));
}

}  // namespace puna::kernels
