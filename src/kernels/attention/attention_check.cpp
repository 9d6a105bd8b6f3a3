// The self-test of attention. The reference reads the same rounded cache.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_scratch.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> own_attention_on_gpu(gpu::Device& device, const AttentionCpuArgs& args) {
  Workbench bench(device);
  const uint32_t n_rows = args.step.n_tokens;
  const uint64_t n = uint64_t{n_rows} * args.n_heads * args.kv.head_dim;
  AttentionArgs a;
  a.label = "attention";
  a.kv = args.kv;
  a.n_heads = args.n_heads;
  a.scale = args.scale;
  a.causal = false;
  a.own = true;
  a.max_rows = n_rows;
  PUNA_TRY(a.step, bench.step(n_rows, nullptr));
  PUNA_TRY(a.q,
           bench.upload(args.q, n + 2 * uint64_t{n_rows} * args.kv.n_kv_heads * args.kv.head_dim));
  if (args.spans) {
    PUNA_TRY(a.spans, bench.upload(args.spans, 2 * uint64_t{n_rows}));
  }
  PUNA_TRY(a.out, bench.output(n));
  std::vector<KernelCall> calls;
  PUNA_TRY(kernels::attention(bench.info(), a, calls));
  PUNA_TRY(bench.run(calls, {n_rows, n_rows, 1}));
  return bench.read(a.out, args.out, n);
}

Result<void> attention_on_gpu(gpu::Device& device, const AttentionCpuArgs& args) {
  Workbench bench(device);
  const uint32_t n_rows = args.step.n_tokens;
  const uint64_t n = uint64_t{n_rows} * args.n_heads * args.kv.head_dim;
  AttentionArgs a;
  a.label = "attention";
  a.kv = args.kv;
  a.n_heads = args.n_heads;
  a.pages_per_sequence = args.step.pages_per_sequence;
  a.scale = args.scale;
  a.softcap = args.softcap;
  a.max_alibi_bias = args.max_alibi_bias;
  a.bias_reach = args.bias_reach;
  a.window = args.window;
  a.v_dim = args.v_dim;
  a.causal = args.causal;
  if (args.sinks) {
    PUNA_TRY(a.sinks, bench.upload(args.sinks, args.n_heads));
  }
  if (args.biases) {
    PUNA_TRY(a.biases,
             bench.upload(args.biases, args.n_heads * (2 * uint64_t{args.bias_reach} + 1)));
  }
  a.max_rows = batch_class(n_rows);
  const uint32_t n_kv =
      static_cast<uint32_t>(*std::max_element(args.step.positions, args.step.positions + n_rows)) +
      1;
  const AttentionSplits splits = attention_splits(attention_max_splits(bench.info(), a), n_kv);
  PUNA_TRY(a.step, bench.step(n_rows, &args.step, splits));
  PUNA_TRY(a.pages, upload_pages(bench, args.step, args.kv));
  PUNA_TRY(a.q, bench.upload(args.q, n));
  PUNA_TRY(a.k_cache, bench.upload(args.k_cache, args.kv.bytes()));
  PUNA_TRY(a.v_cache, bench.upload(args.v_cache, args.kv.bytes()));
  const uint64_t n_out = n / args.kv.head_dim * (args.v_dim != 0 ? args.v_dim : args.kv.head_dim);
  PUNA_TRY(a.out, bench.output(n_out));
  if (const uint64_t bytes = attention_scratch_bytes(bench.info(), a); bytes > 0) {
    PUNA_TRY(a.scratch, bench.output(bytes / 4));
  }
  std::vector<KernelCall> calls;
  PUNA_TRY(kernels::attention(bench.info(), a, calls));
  PUNA_TRY(bench.run(calls, {n_rows, n_rows, splits.n_splits}));
  return bench.read(a.out, args.out, n_out);
}

Result<void> attention_on(Check& check, const AttentionCpuArgs& args) {
  if (check.gpu()) {
    return args.own ? own_attention_on_gpu(*check.gpu(), args)
                    : attention_on_gpu(*check.gpu(), args);
  }
  const CheckScratch scratch(attention_cpu_scratch_bytes(check.pool().n_threads(), args.n_heads,
                                                         args.kv.head_dim, args.step.n_tokens));
  AttentionCpuArgs with_scratch = args;
  with_scratch.scratch = scratch.data();
  attention_cpu(check.pool(), with_scratch);
  return {};
}

// With a sink; values are the first 512 elements of keys of 576.
Result<void> latent_attention(Check& check, KvType kv_type, std::vector<int32_t> positions) {
  if (!check.wanted("attention", name(kv_type))) return {};
  const size_t n_rows = positions.size();
  const CheckRows rows(std::move(positions), std::vector<uint32_t>(n_rows, 0));
  AttentionCpuArgs args;
  args.kv = {kv_type, static_cast<uint32_t>(rows.pages.size()), 1, 576};
  args.n_heads = 4;
  args.v_dim = 512;
  std::vector<std::byte> k(static_cast<size_t>(args.kv.bytes()));
  const auto draws = normal(65521, 12);
  for (uint64_t row = 0; row < uint64_t{args.kv.n_pages} * kPageTokens; ++row)
    kv_store_ref(args.kv, k.data(), row, draws.data() + row * 31 % 60000);
  const auto q = normal(n_rows * args.n_heads * 576, 13), sinks = normal(args.n_heads, 14);
  std::vector<float> out(n_rows * args.n_heads * args.v_dim), expected(out.size());
  args.step = rows.step();
  args.q = q.data();
  args.k_cache = args.v_cache = k.data();
  args.sinks = sinks.data();
  args.out = out.data();
  args.scale = 1.0f / 24;
  PUNA_TRY(attention_on(check, args));
  args.out = expected.data();
  attention_ref(args);
  return check.record("attention", name(kv_type),
                      fmt::format("latent 576/512, sinks, {} rows", n_rows), nmse(out, expected),
                      kF32Limit);
}

// Rows of an encoder: they attend to each other, all of them or within spans of `span` rows, the
// last of which may be shorter.
Result<void> own_attention(Check& check, uint32_t head_dim, uint32_t n_rows, uint32_t span) {
  if (!check.wanted("attention", "f32")) return {};
  AttentionCpuArgs args;
  args.kv = {KvType::kF32, 0, 3, head_dim};
  args.n_heads = 3;
  args.own = true;
  args.causal = false;
  args.step.n_tokens = n_rows;
  const auto qkv = normal(size_t{n_rows} * 9 * head_dim, 15);
  std::vector<uint32_t> spans;
  for (uint32_t t = 0; t < n_rows && span > 0; ++t) {
    spans.push_back(t / span * span);
    spans.push_back(std::min(spans.back() + span, n_rows));
  }
  if (span > 0) args.spans = spans.data();
  std::vector<float> out(size_t{n_rows} * 3 * head_dim), expected(out.size());
  args.q = qkv.data();
  args.out = out.data();
  args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  PUNA_TRY(attention_on(check, args));
  args.out = expected.data();
  attention_ref(args);
  return check.record(
      "attention", "f32",
      fmt::format("own keys, head {}, {} rows, spans of {}", head_dim, n_rows, span),
      nmse(out, expected), kF32Limit);
}

Result<void> attention(Check& check, KvType kv_type, uint32_t head_dim,
                       std::vector<int32_t> positions, std::vector<uint32_t> sequences,
                       uint32_t window, float softcap, float max_alibi_bias = 0,
                       uint32_t bias_reach = 0) {
  if (!check.wanted("attention", name(kv_type))) return {};
  const CheckRows rows(std::move(positions), std::move(sequences));
  const uint32_t n_kv_heads = 2, n_heads = 6;
  const KvLayout kv{kv_type, static_cast<uint32_t>(rows.pages.size()), n_kv_heads, head_dim};
  const auto n_bytes = static_cast<size_t>(kv.bytes());
  std::vector<std::byte> k(n_bytes), v(n_bytes);
  const auto draws = normal(65521, 12);
  size_t draw = 0;
  std::vector<float> head(head_dim);
  for (uint64_t row = 0; row < uint64_t{kv.n_pages} * n_kv_heads * kPageTokens; ++row) {
    for (std::vector<std::byte>* cache : {&k, &v}) {
      for (float& value : head) value = draws[draw++ % draws.size()];
      kv_store_ref(kv, cache->data(), row, head.data());
    }
  }
  const auto q = normal(size_t{rows.n()} * n_heads * head_dim, 13);
  std::vector<float> out(q.size()), expected(q.size());
  AttentionCpuArgs args;
  args.step = rows.step();
  args.q = q.data();
  args.k_cache = k.data();
  args.v_cache = v.data();
  args.out = out.data();
  args.kv = kv;
  args.n_heads = n_heads;
  args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  args.softcap = softcap;
  args.max_alibi_bias = max_alibi_bias;
  const auto biases = normal(size_t{n_heads} * (2 * bias_reach + 1), 16);
  if (bias_reach > 0) args.biases = biases.data();
  args.bias_reach = bias_reach;
  args.window = window;
  PUNA_TRY(attention_on(check, args));
  args.out = expected.data();
  attention_ref(args);
  return check.record(
      "attention", name(kv_type),
      fmt::format("head {}, {} rows, {} keys{}{}{}{}", head_dim, rows.n(),
                  *std::max_element(rows.positions.begin(), rows.positions.end()) + 1,
                  window > 0 ? ", window" : "", softcap > 0 ? ", softcap" : "",
                  max_alibi_bias > 0 ? ", ALiBi" : "",
                  bias_reach > 0 ? ", biases by distance" : ""),
      nmse(out, expected), kF32Limit);
}

}  // namespace

Result<void> check_attention(Check& check) {
  for (const uint32_t head_dim : {16u, 36u, 64u, 72u, 80u}) {
    PUNA_TRY(own_attention(check, head_dim, 1, 0));
    PUNA_TRY(own_attention(check, head_dim, 77, 0));
    PUNA_TRY(own_attention(check, head_dim, 77, 16));
    PUNA_TRY(own_attention(check, head_dim, 77, 50));
  }
  PUNA_TRY(own_attention(check, 32, 600, 0));
  for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    for (const uint32_t head_dim : {64u, 96u, 128u, 256u}) {
      PUNA_TRY(attention(check, kv, head_dim, {1}, {0}, 0, 0));
      PUNA_TRY(attention(check, kv, head_dim, {700}, {0}, 0, 0));
      PUNA_TRY(attention(check, kv, head_dim, {31, 32, 200, 5}, {0, 1, 2, 3}, 64, 20));
      std::vector<int32_t> chunk(48);
      std::iota(chunk.begin(), chunk.end(), 20);
      PUNA_TRY(attention(check, kv, head_dim, chunk, std::vector<uint32_t>(48, 0), 0, 0));
      PUNA_TRY(attention(check, kv, head_dim, chunk, std::vector<uint32_t>(48, 0), 30, 5));
    }
    std::vector<int32_t> prompt(48);
    std::iota(prompt.begin(), prompt.end(), 20);
    PUNA_TRY(attention(check, kv, 64, {700}, {0}, 0, 0, 8));
    PUNA_TRY(attention(check, kv, 64, prompt, std::vector<uint32_t>(48, 0), 0, 0, 8));
    PUNA_TRY(attention(check, kv, 64, {700}, {0}, 0, 0, 0, 128));
    PUNA_TRY(attention(check, kv, 64, prompt, std::vector<uint32_t>(48, 0), 0, 0, 0, 20));
    PUNA_TRY(latent_attention(check, kv, {300}));
    std::vector<int32_t> chunk(40);
    std::iota(chunk.begin(), chunk.end(), 20);
    PUNA_TRY(latent_attention(check, kv, chunk));
  }
  return {};
}

}  // namespace puna::kernels
