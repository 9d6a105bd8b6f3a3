// Tokens per second of the CPU kernels alone on a llama-shaped model of random weights: what is
// left for an engine to lose.
//   puna_kernels_layers_bench [threads=2] [type=q4_1] [depth=0] [variant]
// The shape is SmolLM2-135M's; each layer has weights of its own, so that memory is read as in the
// real model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/test_util.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/rope/rope.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kHidden = 576, kHeads = 9, kKvHeads = 3, kHeadDim = 64, kFfn = 1536,
                   kVocab = 49152, kLayers = 30;
constexpr uint32_t kQkv = (kHeads + 2 * kKvHeads) * kHeadDim;

CpuMatrix random_matrix(quant::Type type, uint32_t rows, uint32_t cols) {
  auto matrix = CpuMatrix::create(type, rows, cols, Numerics::kFast);
  if (!matrix) {
    fmt::print(stderr, "error: {}\n", matrix.error().text());
    std::exit(1);
  }
  // The same few rows again and again: values do not matter, addresses do.
  const std::vector<std::byte> some = quant::random_rows(type, 16, cols, 1, 0.003f);
  for (uint32_t r = 0; r < rows; r += 16) matrix->set_rows(r, some);
  return std::move(*matrix);
}

std::vector<std::byte> bytes(uint64_t n) { return std::vector<std::byte>(static_cast<size_t>(n)); }

struct Layer {
  CpuMatrix qkv, out, gate_up, down;
  std::vector<std::byte> k, v;
};

struct Model {
  std::vector<Layer> layers;
  CpuMatrix head;
  std::vector<float> gamma = std::vector<float>(kFfn, 1.0f);
  KvLayout kv;
  std::vector<uint32_t> pages;

  Model(quant::Type type, uint32_t n_ctx) {
    kv = {.type = KvType::kF16,
          .n_pages = (n_ctx + kPageTokens - 1) / kPageTokens,
          .n_kv_heads = kKvHeads,
          .head_dim = kHeadDim};
    for (uint32_t i = 0; i < kv.n_pages; ++i) pages.push_back(i);
    for (uint32_t i = 0; i < kLayers; ++i) {
      layers.push_back({random_matrix(type, kQkv, kHidden), random_matrix(type, kHidden, kHidden),
                        random_matrix(type, 2 * kFfn, kHidden), random_matrix(type, kHidden, kFfn),
                        bytes(kv.bytes()), bytes(kv.bytes())});
    }
    head = random_matrix(quant::Type::kQ8_0, kVocab, kHidden);
  }
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Runner {
  base::ThreadPool& pool;
  Model& model;
  std::vector<float> x, residual, qkv, q, attended, ffn, logits;
  std::vector<std::byte> scratch_memory, attention_memory;
  std::vector<int32_t> positions;
  std::vector<uint32_t> sequences;
  double spent[7] = {};  // qkv, rope, attention, out, gate_up, down, norm

  static std::byte* align(std::vector<std::byte>& memory) {
    return memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  }

  Runner(base::ThreadPool& p, Model& m, uint32_t n) : pool(p), model(m) {
    x = test::normal(size_t{n} * kHidden, 1);
    residual = x;
    qkv.resize(size_t{n} * kQkv);
    q.resize(size_t{n} * kHidden);
    attended.resize(size_t{n} * kHidden);
    ffn.resize(size_t{n} * kFfn);
    logits.resize(kVocab);
    scratch_memory = bytes(matmul_cpu_scratch_bytes(kFfn, n) + 64);
    attention_memory =
        bytes(attention_cpu_scratch_bytes(pool.n_threads(), kHeads, kHeadDim, n) + 64);
    positions.resize(n);
    sequences.resize(n, 0);
  }

  void multiply(const CpuMatrix& weight, const float* in, float* out, uint32_t n, uint32_t stride,
                Epilogue epilogue) {
    matmul_cpu(pool, {.weight = &weight,
                      .x = in,
                      .y = out,
                      .n_rows = n,
                      .y_stride = stride,
                      .epilogue = epilogue,
                      .scratch = align(scratch_memory)});
  }

  void step(uint32_t n, uint32_t depth) {
    for (uint32_t t = 0; t < n; ++t) positions[t] = static_cast<int32_t>(depth + t);
    const CpuStep s{.n_tokens = n,
                    .positions = positions.data(),
                    .sequences = sequences.data(),
                    .pages = model.pages.data(),
                    .pages_per_sequence = static_cast<uint32_t>(model.pages.size())};
    double last = seconds();
    const auto lap = [&](int i) {
      const double now = seconds();
      spent[i] += now - last;
      last = now;
    };
    const auto norm = [&] {
      rms_norm_cpu(pool, {.x = residual.data(),
                          .gamma = model.gamma.data(),
                          .y = x.data(),
                          .n_rows = n,
                          .n = kHidden});
      lap(6);
    };
    residual = x;
    for (Layer& layer : model.layers) {
      norm();
      multiply(layer.qkv, x.data(), qkv.data(), n, kQkv, Epilogue::kStore);
      lap(0);
      RopeCpuArgs rope;
      rope.step = s;
      rope.qkv = qkv.data();
      rope.q_out = q.data();
      rope.k_cache = layer.k.data();
      rope.v_cache = layer.v.data();
      rope.kv = model.kv;
      rope.n_heads = kHeads;
      rope.rope = {.n_rot = kHeadDim, .base = 1e5f};
      rope_append_cpu(pool, rope);
      lap(1);
      AttentionCpuArgs attention;
      attention.step = s;
      attention.q = q.data();
      attention.k_cache = layer.k.data();
      attention.v_cache = layer.v.data();
      attention.out = attended.data();
      attention.kv = model.kv;
      attention.n_heads = kHeads;
      attention.scale = 0.125f;
      attention.scratch = align(attention_memory);
      attention_cpu(pool, attention);
      lap(2);
      multiply(layer.out, attended.data(), residual.data(), n, kHidden, Epilogue::kAdd);
      lap(3);
      norm();
      multiply(layer.gate_up, x.data(), ffn.data(), n, kFfn, Epilogue::kSwiGlu);
      lap(4);
      multiply(layer.down, ffn.data(), residual.data(), n, kHidden, Epilogue::kAdd);
      lap(5);
    }
    norm();
    multiply(model.head, x.data() + size_t{n - 1} * kHidden, logits.data(), 1, kVocab,
             Epilogue::kStore);
  }
};

void measure(base::ThreadPool& pool, Model& model, const char* name, uint32_t n, uint32_t depth,
             int steps) {
  Runner runner(pool, model, n);
  runner.step(n, depth);
  std::vector<double> rates;
  std::fill(std::begin(runner.spent), std::end(runner.spent), 0.0);
  for (int run = 0; run < 5; ++run) {
    const double start = seconds();
    for (int i = 0; i < steps; ++i) runner.step(n, depth);
    rates.push_back(n * steps / (seconds() - start));
  }
  std::sort(rates.begin(), rates.end());
  fmt::print("{} {} rows, depth {}: {:.0f} / {:.0f} / {:.0f} tok/s; ms a step:", name, n, depth,
             rates.front(), rates[2], rates.back());
  const char* names[] = {"qkv", "rope", "attention", "out", "gate_up", "down", "norm"};
  for (int i = 0; i < 7; ++i)
    fmt::print(" {} {:.3f}", names[i], runner.spent[i] * 1e3 / (5 * steps));
  fmt::print("\n");
}

}  // namespace
}  // namespace puna::kernels

int main(int argc, char** argv) {
  using namespace puna;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const quant::TypeInfo* type = quant::find(argc > 2 ? argv[2] : "q4_1");
  const uint32_t depth = argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 0;
  if (!type || (argc > 4 && !kernels::set_cpu_variant(argv[4]))) {
    fmt::print(stderr, "error: unknown weight type or variant\n");
    return 2;
  }
  base::ThreadPool pool(threads);
  kernels::Model model(type->type, depth + 512);
  fmt::print("{} threads, {}, {}\n", pool.n_threads(), type->name, kernels::cpu_variant());
  kernels::measure(pool, model, "prefill", 512, depth, 1);
  kernels::measure(pool, model, "batch", 4, depth, 16);
  kernels::measure(pool, model, "decode", 1, depth, 32);
  return 0;
}
