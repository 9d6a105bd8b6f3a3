// Speed of GPU attention: decode at several depths and prefill of 512 rows.
//   puna_attention_bench [--adapter N] [--kv f32|f16|q8_0|q4_0] [--heads 32x8] [--head-dims 64,128]
//   [--depths 512,2048,8192] [--layers 2]
//                        [--sweep]
// Decode prints microseconds a layer, combine included, and the GB/s of K and V; prefill
// microseconds and TFLOPS of both products over the keys that are seen. Every pass goes over the
// caches of many layers, so that they come from memory as in a model (--layers sets how many, for
// slow adapters). --sweep also tries other splits, workgroups and tiles. "floor" is a dispatch that
// does nothing worth mentioning.
#include <algorithm>
#include <string_view>

#include "kernels/attention/attention_gpu.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/testing/gpu_bench.h"

using namespace puna;
using namespace puna::kernels;
using bench::must;

namespace {

constexpr uint64_t kColdBytes = 256u << 20;  // of distinct K and V in one pass
constexpr uint32_t kMaxLayers = 32;
constexpr double kEnoughMs = 40;
constexpr int kTries = 5;

struct Options {
  size_t adapter = 0;
  KvType kv = KvType::kF16;
  uint32_t n_heads = 32, n_kv_heads = 8;
  std::vector<uint32_t> head_dims = {64, 128};
  std::vector<uint32_t> depths = {512, 2048, 8192};
  uint32_t layers = 0;  // 0 = enough for kColdBytes
  bool sweep = false;
};

[[noreturn]] void usage(std::string_view what) {
  fmt::print(stderr, "error: {} (see the top of attention_bench.cpp)\n", what);
  std::exit(2);
}

std::vector<uint32_t> numbers(std::string_view text, char by) {
  std::vector<uint32_t> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(by), text.size());
    out.push_back(
        static_cast<uint32_t>(std::strtoul(std::string(text.substr(0, end)).c_str(), nullptr, 10)));
    if (out.back() == 0) usage(fmt::format("\"{}\" is no list of numbers", text));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 >= argc) usage(fmt::format("{} needs a value", arg));
      return argv[++i];
    };
    if (arg == "--adapter") {
      options.adapter = std::strtoul(std::string(value()).c_str(), nullptr, 10);
    } else if (arg == "--kv") {
      const std::string_view name = value();
      const auto kv = kv_type_named(name);
      if (!kv) usage(fmt::format("unknown KV type {}", name));
      options.kv = *kv;
    } else if (arg == "--heads") {
      const std::vector<uint32_t> heads = numbers(value(), 'x');
      if (heads.size() != 2) usage("--heads takes QxKV, like 32x8");
      options.n_heads = heads[0];
      options.n_kv_heads = heads[1];
    } else if (arg == "--head-dims") {
      options.head_dims = numbers(value(), ',');
    } else if (arg == "--depths") {
      options.depths = numbers(value(), ',');
    } else if (arg == "--layers") {
      options.layers = numbers(value(), ',').at(0);
    } else if (arg == "--sweep") {
      options.sweep = true;
    } else {
      usage(fmt::format("unknown option {}", arg));
    }
  }
  return options;
}

// The layers of one shape: rows at positions first .. first + n_rows of one sequence.
class Layers {
 public:
  Layers(bench::GpuBench& gpu, const Options& options, uint32_t head_dim, uint32_t first,
         uint32_t n_rows)
      : gpu_(gpu), n_rows_(n_rows), first_(first), before_(gpu.n_buffers()) {
    const uint32_t pages = div_up(first + n_rows);
    args_.kv = {options.kv, pages, options.n_kv_heads, head_dim};
    args_.label = "attn";
    args_.n_heads = options.n_heads;
    args_.pages_per_sequence = pages;
    args_.scale = 0.1f;
    args_.max_rows = n_rows;
    args_.numerics = Numerics::kFast;
    step_.resize(kStepWords);
    std::vector<uint32_t> table(pages);
    for (uint32_t i = 0; i < pages; ++i) table[i] = i;
    args_.pages = gpu.upload(table);
    args_.q = gpu.buffer(uint64_t{n_rows} * options.n_heads * head_dim * 4);
    args_.out = gpu.buffer(args_.q.bytes);
    args_.scratch = gpu.buffer(std::max<uint64_t>(4, attention_scratch_bytes(gpu.info(), args_)));
    const uint64_t cold = std::clamp<uint64_t>(kColdBytes / (2 * args_.kv.bytes()), 2, kMaxLayers);
    const uint64_t n_layers = options.layers != 0 ? options.layers : cold;
    for (uint64_t i = 0; i < n_layers; ++i)
      caches_.emplace_back(gpu.buffer(args_.kv.bytes()), gpu.buffer(args_.kv.bytes()));
  }
  ~Layers() { gpu_.drop_buffers(before_); }

  const AttentionArgs& args() const { return args_; }

  // Microseconds of one layer.
  double us(const AttentionTuning& tuning, const AttentionSplits& splits) {
    step_[kStepTokenCount] = n_rows_;
    step_[kStepSplitCount] = splits.n_splits;
    step_[kStepSplitTokens] = splits.split_tokens;
    for (uint32_t i = 0; i < n_rows_; ++i) step_[kStepPositions + i] = first_ + i;
    args_.step = gpu_.upload(step_);
    gpu::CommandList list;
    for (const auto& [k, v] : caches_) {
      args_.k_cache = k;
      args_.v_cache = v;
      std::vector<KernelCall> calls;
      attention_tuned(gpu_.info(), args_, tuning, calls);
      const StepShape shape{.n_tokens = n_rows_, .n_outputs = 1, .n_splits = splits.n_splits};
      if (!gpu_.record(calls, shape, list)) std::exit(1);
    }
    const double us = gpu_.pass_us(list, kEnoughMs, kTries) / static_cast<double>(caches_.size());
    gpu_.drop_groups();
    return us;
  }

 private:
  static uint32_t div_up(uint32_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

  bench::GpuBench& gpu_;
  uint32_t n_rows_, first_;
  size_t before_;
  AttentionArgs args_;
  std::vector<uint32_t> step_;
  std::vector<std::pair<Slice, Slice>> caches_;
};

void decode(bench::GpuBench& gpu, const Options& options, uint32_t head_dim, uint32_t depth) {
  Layers layers(gpu, options, head_dim, depth - 1, 1);
  const double bytes = 2.0 * static_cast<double>(layers.args().kv.bytes());
  const AttentionTuning tuning = must(attention_tuning(gpu.info(), layers.args()));
  const uint32_t max_splits = attention_max_splits(gpu.info(), layers.args());
  const AttentionSplits chosen = attention_splits(max_splits, depth);
  const auto report = [&](const AttentionTuning& t, const AttentionSplits& s) {
    const double us = layers.us(t, s);
    const AttentionDecodeTuning& shape = s.n_splits == 1 ? t.whole : t.decode;
    const bool is_default =
        shape == (s.n_splits == 1 ? tuning.whole : tuning.decode) && s.n_splits == chosen.n_splits;
    fmt::print(
        "decode  hd {:3} depth {:5}  splits {:2}  wg {:3} lanes {:2} heads {} keys {}  {:8.2f} us  "
        "{:7.1f} GB/s{}\n",
        head_dim, depth, s.n_splits, shape.workgroup, shape.lanes, shape.heads, shape.keys, us,
        bytes / us / 1000, is_default ? "  (default)" : "");
  };
  report(tuning, chosen);
  if (!options.sweep) return;
  for (uint32_t n = 1; n <= max_splits; n *= 2) {
    if (n != chosen.n_splits) report(tuning, {n, kPageTokens});
  }
  for (const uint32_t workgroup : {64u, 128u, 256u}) {
    for (const uint32_t keys : {1u, 2u, 4u, 8u}) {
      for (const uint32_t heads : {tuning.decode.heads, tuning.decode.heads / 2}) {
        AttentionTuning other = tuning;
        other.decode.workgroup = workgroup;
        other.decode.keys = keys;
        other.decode.heads = heads;
        other.decode.merged =
            std::min(other.decode.merged, heads) * 128 / std::max(128u, workgroup);
        if (heads == 0 || other.decode.merged == 0) continue;
        other.whole = other.decode;
        report(other, chosen);
      }
    }
  }
}

void prefill(bench::GpuBench& gpu, const Options& options, uint32_t head_dim, uint32_t first) {
  constexpr uint32_t kRows = 512;
  Layers layers(gpu, options, head_dim, first, kRows);
  const double seen = kRows * (first + (kRows + 1) / 2.0);
  const AttentionTuning tuning = must(attention_tuning(gpu.info(), layers.args()));
  const auto report = [&](const AttentionTuning& t, std::string_view name) {
    const double us = layers.us(t, {});
    fmt::print("prefill hd {:3} rows 512 after {:5}  {}  {:9.1f} us  {:6.2f} TFLOPS\n", head_dim,
               first, name, us, seen * options.n_heads * head_dim * 4 / us / 1e6);
  };
  if (tuning.matrix) {
    report(tuning, fmt::format("matrix units, {} subgroups, {} keys", tuning.matrix->subgroups,
                               tuning.matrix->keys));
    if (!options.sweep) return;
  }
  std::vector<AttentionPrefillTuning> tiles = {tuning.prefill};
  if (options.sweep) tiles = attention_prefill_tiles(gpu.info(), layers.args());
  for (const AttentionPrefillTuning& t : tiles) {
    report({{}, {}, t, {}}, fmt::format("rows {} groups {:2} columns {:2}{}", t.rows, t.row_groups,
                                        t.columns, t == tuning.prefill ? " (default)" : ""));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bench::GpuBench gpu(options.adapter);
  fmt::print("{}, {}, subgroups {}-{}, {} query and {} KV heads\n", gpu.info().name,
             gpu.info().driver, gpu.info().subgroup_min, gpu.info().subgroup_max, options.n_heads,
             options.n_kv_heads);
  {
    ScaleArgs args;
    args.label = "floor";
    args.y = gpu.buffer(4096);
    args.n = 4;
    std::vector<KernelCall> calls;
    must(scale(gpu.info(), args, calls));
    gpu::CommandList list;
    for (int i = 0; i < 16; ++i) {
      if (!gpu.record(calls, {}, list)) return 1;
    }
    fmt::print("floor  {:.2f} us a dispatch\n", gpu.pass_us(list, kEnoughMs, kTries) / 16);
    gpu.drop_groups();
  }
  for (const uint32_t head_dim : options.head_dims) {
    for (const uint32_t depth : options.depths) decode(gpu, options, head_dim, depth);
    for (const uint32_t first : {0u, 2048u}) prefill(gpu, options, head_dim, first);
  }
  return 0;
}
