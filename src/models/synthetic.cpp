#include "models/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "quant/mix.h"
#include "quant/random_rows.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;
using formats::ModelFile;
using formats::Tensor;

namespace {

struct Shape {
  std::string_view name;
  std::string_view architecture;
  uint32_t n_layers, hidden, ffn, n_heads, n_kv_heads, head_dim, vocab, context;
  bool tied;
  double rope_base;
  // Of a mixture: so many experts in place of each feed-forward block, of `ffn` each, of which a
  // token uses some.
  uint32_t n_experts = 0, n_used_experts = 0;
};

constexpr Shape kShapes[] = {
    {"tiny", "llama", 2, 256, 512, 4, 2, 64, 512, 256, true, 10000},
    {"tiny-moe", "qwen3moe", 2, 256, 256, 4, 2, 64, 512, 256, false, 10000, 8, 2},
    {"smollm2-135m", "llama", 30, 576, 1536, 9, 3, 64, 49152, 8192, true, 100000},
    {"llama3.2-1b", "llama", 16, 2048, 8192, 32, 8, 64, 128256, 131072, true, 500000},
    {"llama3.2-3b", "llama", 28, 3072, 8192, 24, 8, 128, 128256, 131072, true, 500000},
    {"llama3.1-8b", "llama", 32, 4096, 14336, 32, 8, 128, 128256, 131072, false, 500000},
    {"llama3.1-70b", "llama", 80, 8192, 28672, 64, 8, 128, 128256, 131072, false, 500000},
    {"gemma3-270m", "gemma3", 18, 640, 2048, 4, 1, 256, 262144, 32768, true, 1000000},
    {"gemma3-1b", "gemma3", 26, 1152, 6912, 4, 1, 256, 262144, 32768, true, 1000000},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, true, 1000000},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 40960, true, 1000000},
    {"qwen3-8b", "qwen3", 36, 4096, 12288, 32, 8, 128, 151936, 40960, false, 1000000},
    {"qwen3-30b-a3b", "qwen3moe", 48, 2048, 768, 32, 4, 128, 151936, 40960, false, 1000000, 128, 8},
};

constexpr size_t kPatternElements = 1
                                    << 19;  // distinct random weights of a type before they repeat

// Bytes of one type that repeat for ever: encoded normal deviates of a size usual for weights.
class PatternSource : public io::ByteSource {
 public:
  PatternSource(quant::Type type, uint64_t size, float deviation, float mean)
      : name_(fmt::format("random {}", quant::info(type).name)), size_(size) {
    if (!quant::info(type).encode) {
      pattern_ = quant::random_weights(type, 1, kPatternElements, /*seed=*/1, deviation);
      return;
    }
    std::vector<float> values(kPatternElements);
    uint64_t state = 0x243f6a8885a308d3u + static_cast<uint64_t>(type);
    for (float& v : values) {
      // The sum of four uniform numbers is near enough to a normal deviate.
      float sum = 0;
      for (int i = 0; i < 4; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += static_cast<float>(state >> 40) * 0x1p-24f - 0.5f;
      }
      v = mean + sum * 1.732f * deviation;
    }
    pattern_.resize(static_cast<size_t>(quant::row_bytes(type, kPatternElements)));
    quant::info(type).encode(values.data(), pattern_.data(), values.size());
  }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
    size_t at = offset % pattern_.size();
    for (size_t filled = 0; filled < out.size();) {
      const size_t n = std::min(out.size() - filled, pattern_.size() - at);
      std::memcpy(out.data() + filled, pattern_.data() + at, n);
      filled += n;
      at = 0;
    }
    done({});
  }

 private:
  std::string name_;
  uint64_t size_;
  std::vector<std::byte> pattern_;
};

class Maker {
 public:
  Maker(const Shape& shape, std::string_view type) : shape_(shape), type_(type) {}

  Result<ModelFile> make() {
    set_metadata();
    const uint64_t q = uint64_t{shape_.n_heads} * shape_.head_dim,
                   kv = uint64_t{shape_.n_kv_heads} * shape_.head_dim;
    const bool gemma = shape_.architecture == "gemma3";
    const bool head_norms =
        gemma || shape_.architecture == "qwen3" || shape_.architecture == "qwen3moe";
    const bool biases = shape_.architecture == "qwen2";
    PUNA_TRY(matrix("token_embd", {shape_.vocab, shape_.hidden}));
    if (!shape_.tied) PUNA_TRY(matrix("output", {shape_.vocab, shape_.hidden}));
    vector("output_norm.weight", shape_.hidden);
    if (shape_.architecture == "llama" && shape_.context > 8192)
      vector("rope_freqs.weight", shape_.head_dim / 2);
    for (uint32_t l = 0; l < shape_.n_layers; ++l) {
      const std::string p = fmt::format("blk.{}.", l);
      layer_ = static_cast<int>(l);
      for (const char* norm : {"attn_norm", "ffn_norm"})
        vector(p + norm + ".weight", shape_.hidden);
      if (gemma) {
        for (const char* norm : {"post_attention_norm", "post_ffw_norm"})
          vector(p + norm + ".weight", shape_.hidden);
      }
      if (head_norms) {
        for (const char* norm : {"attn_q_norm", "attn_k_norm"})
          vector(p + norm + ".weight", shape_.head_dim);
      }
      if (biases) {
        vector(p + "attn_q.bias", static_cast<uint32_t>(q));
        vector(p + "attn_k.bias", static_cast<uint32_t>(kv));
        vector(p + "attn_v.bias", static_cast<uint32_t>(kv));
      }
      PUNA_TRY(matrix(p + "attn_q", {q, shape_.hidden}));
      PUNA_TRY(matrix(p + "attn_k", {kv, shape_.hidden}));
      PUNA_TRY(matrix(p + "attn_v", {kv, shape_.hidden}));
      PUNA_TRY(matrix(p + "attn_output", {shape_.hidden, q}));
      PUNA_TRY(feed_forward(p));
    }
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const bool norms = i == 0;  // norm weights lie around one
      file_.sources.push_back(std::make_unique<PatternSource>(
          kinds_[i], sizes_[i], norms ? 0.1f : 0.02f, norms ? 1.0f : 0.0f));
    }
    file_.index();
    return std::move(file_);
  }

 private:
  void set_metadata() {
    const std::string p = std::string(shape_.architecture) + ".";
    file_.name = fmt::format("{}:{}", shape_.name, type_);
    const auto set = [&](const std::string& key, formats::Value value) {
      file_.metadata.emplace_back(key, std::move(value));
    };
    set("general.architecture", std::string(shape_.architecture));
    set("general.name", file_.name);
    set(p + "block_count", uint64_t{shape_.n_layers});
    set(p + "embedding_length", uint64_t{shape_.hidden});
    set(p + "feed_forward_length", uint64_t{shape_.ffn});
    set(p + "attention.head_count", uint64_t{shape_.n_heads});
    set(p + "attention.head_count_kv", uint64_t{shape_.n_kv_heads});
    set(p + "attention.key_length", uint64_t{shape_.head_dim});
    set(p + "attention.value_length", uint64_t{shape_.head_dim});
    set(p + "context_length", uint64_t{shape_.context});
    set(p + "attention.layer_norm_rms_epsilon", 1e-5);
    set(p + "rope.freq_base", shape_.rope_base);
    if (shape_.architecture == "gemma3") set(p + "attention.sliding_window", uint64_t{512});
    if (shape_.n_experts > 0) {
      set(p + "expert_count", uint64_t{shape_.n_experts});
      set(p + "expert_used_count", uint64_t{shape_.n_used_experts});
      set(p + "expert_feed_forward_length", uint64_t{shape_.ffn});
    }
  }

  Result<void> feed_forward(const std::string& p) {
    const uint64_t ffn = shape_.ffn, hidden = shape_.hidden, n = shape_.n_experts;
    if (n == 0) {
      PUNA_TRY(matrix(p + "ffn_gate", {ffn, hidden}));
      PUNA_TRY(matrix(p + "ffn_up", {ffn, hidden}));
      return matrix(p + "ffn_down", {hidden, ffn});
    }
    add(p + "ffn_gate_inp.weight", kind_of(quant::Type::kF32), {n, hidden});  // never quantized
    PUNA_TRY(matrix(p + "ffn_gate_exps", {n, ffn, hidden}));
    PUNA_TRY(matrix(p + "ffn_up_exps", {n, ffn, hidden}));
    return matrix(p + "ffn_down_exps", {n, hidden, ffn});
  }

  // Tensors of one kind share a source; kind 0 is the f32 vectors.
  void add(const std::string& name, size_t kind, std::vector<uint64_t> dims) {
    Tensor t;
    t.name = name;
    t.type = kinds_[kind];
    t.shape = std::move(dims);
    t.source = static_cast<uint32_t>(kind);
    t.bytes = t.rows() * quant::row_bytes(t.type, t.columns());
    t.offset = sizes_[kind];
    sizes_[kind] += t.bytes;
    file_.tensors.push_back(std::move(t));
  }
  void vector(const std::string& name, uint32_t n) { add(name, 0, {n}); }
  Result<void> matrix(const std::string& name, std::vector<uint64_t> dims) {
    PUNA_TRY(const quant::Type type, type_of(name + ".weight", dims.back()));
    add(name + ".weight", kind_of(type), std::move(dims));
    return {};
  }
  size_t kind_of(quant::Type type) {
    size_t kind = 1;
    while (kind < kinds_.size() && kinds_[kind] != type) ++kind;
    if (kind == kinds_.size()) {
      kinds_.push_back(type);
      sizes_.push_back(0);
    }
    return kind;
  }
  Result<quant::Type> type_of(const std::string& name, uint64_t columns) const {
    constexpr std::string_view kPure = "pure:";
    if (type_.starts_with(kPure)) {
      const quant::TypeInfo* info = quant::find(type_.substr(kPure.size()));
      if (!info || columns % info->block_elements != 0) {
        return base::fail(ErrorCode::kInvalidArgument,
                          fmt::format("The type \"{}\" is unknown or does not divide rows of {}.",
                                      type_, columns));
      }
      return info->type;
    }
    const quant::Mix* mix = quant::find_mix(type_);
    if (!mix) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("The mix \"{}\" is unknown; \"pure:TYPE\" gives every matrix one type.",
                      type_));
    }
    quant::MixModel model;
    model.n_layers = static_cast<int>(shape_.n_layers);
    model.tied_embeddings = shape_.tied;
    model.n_experts = static_cast<int>(shape_.n_experts);
    model.n_gqa = static_cast<int>(shape_.n_heads / shape_.n_kv_heads);
    return quant::type_of(*mix, name, layer_, columns, model);
  }

  const Shape& shape_;
  std::string_view type_;
  int layer_ = 0;
  ModelFile file_;
  std::vector<quant::Type> kinds_ = {quant::Type::kF32};
  std::vector<uint64_t> sizes_ = {0};
};

}  // namespace

std::string synthetic_shapes() {
  std::string out;
  for (const Shape& s : kShapes) out += (out.empty() ? "" : ", ") + std::string(s.name);
  return out;
}

Result<ModelFile> synthetic_model(std::string_view shape_and_type) {
  const size_t colon = shape_and_type.find(':');
  const std::string_view name = shape_and_type.substr(0, colon);
  const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                  [&](const Shape& s) { return s.name == name; });
  if (colon == std::string_view::npos || shape == std::end(kShapes)) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is no SHAPE:TYPE; shapes are {}.", shape_and_type, synthetic_shapes()));
  }
  return Maker(*shape, shape_and_type.substr(colon + 1)).make();
}

}  // namespace puna::models
