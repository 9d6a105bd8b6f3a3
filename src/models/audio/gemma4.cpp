// Gemma 4's encoder of sounds (transformers, Gemma4AudioModel; after USM, Zhang et al. 2023): two
// convolutions of 3 x 3 that halve frames and bins, then Conformer blocks (Gulati et al. 2020) with
// half an FFN at either end, attention to the twelve rows up to each by what they are and how far
// away they are, and a causal convolution. Values may be clipped around products, by bounds of the
// file.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "models/audio/cells.h"
#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

using kernels::Unary;
using plan::Builder;
using plan::Value;

namespace {

// No keys say these.
constexpr uint32_t kWindow = 12;  // rows
constexpr float kCap = 50;        // of scores
constexpr float kHalf = 0.5f;     // of what an FFN adds
constexpr float kEps = 1e-6f;     // files have another that their makers never used

constexpr const char* kConvolutions[] = {"a.conv1d.0", "a.conv1d.1"};

uint64_t elements_of(const formats::ModelFile& file, const std::string& name) {
  const formats::Tensor* const tensor = file.find_tensor(name);
  return tensor ? tensor->rows() * tensor->columns() : 0;
}

class Layers {
 public:
  Layers(Builder& b, const EncoderConfig& c, Value before) : b_(b), c_(c), before_(before) {}

  Value block(uint32_t l, Value x) {
    layer_ = l;
    x = half_ffn(x, "");
    x = b_.add(x, attention(norm(x, "attn_pre_norm")));
    x = b_.add(x, convolution(norm(x, "conv_norm")));
    x = half_ffn(x, "_1");
    return norm(x, "ln2");
  }

 private:
  std::string tensor(std::string_view part) const {
    return fmt::format("a.blk.{}.{}.weight", layer_, part);
  }
  Value norm(Value x, std::string_view part) { return b_.rms_norm(x, tensor(part), kEps); }

  // x may change, unless it `stays`.
  Value product(Value x, std::string_view part, bool stays = false) {
    return bounded_product(b_, tensor(part), x, stays);
  }

  Value half_ffn(Value x, std::string_view which) {
    const auto part = [&](std::string_view name) { return fmt::format("{}{}", name, which); };
    Value y = product(norm(x, part("ffn_norm")), part("ffn_up"));
    y = product(b_.unary(y, Unary::kSilu), part("ffn_down"));
    return b_.add(x, b_.scale(norm(y, part("ffn_post_norm")), kHalf));
  }

  Value attention(Value x) {
    constexpr float kLn2 = std::numbers::ln2_v<float>;
    plan::LocalAttentionSpec spec;
    spec.label = fmt::format("a.blk.{}.attention", layer_);
    spec.gamma = tensor("per_dim_scale");
    spec.far = tensor("attn_k_rel");
    spec.window = kWindow;
    spec.head_dim = c_.head_dim();
    spec.scale = 1 / std::sqrt(static_cast<float>(c_.head_dim())) / kLn2;
    spec.key_scale = std::log(1 + std::numbers::e_v<float>) / kLn2;
    spec.cap = kCap;
    const Value q = product(x, "attn_q", /*stays=*/true);
    const Value k = product(x, "attn_k", /*stays=*/true);
    const Value v = product(x, "attn_v");
    const Value y = b_.local_attention(q, k, v, before_, spec);
    return norm(product(y, "attn_out"), "attn_post_norm");
  }

  Value convolution(Value x) {
    const std::string weight = tensor("conv_pw1");
    x = within_bounds(b_, x, weight, Side::kInput);
    const Builder::Parted halves = b_.matmul_parted(weight, c_.hidden, x);
    const Value gate = within_bounds(b_, halves.rest, weight, Side::kOutput);
    Value y = b_.gate(within_bounds(b_, halves.first, weight, Side::kOutput), gate);
    y = norm(b_.own_conv(y, before_, tensor("conv_dw")), "norm_conv");
    return product(b_.unary(y, Unary::kSilu), "conv_pw2");
  }

  Builder& b_;
  const EncoderConfig& c_;
  Value before_;
  uint32_t layer_ = 0;
};

// A layer norm of each of some parts of a row, without a bias, so that rows of zeros stay zeros.
Value channels(Builder& b, Value x, const std::string& convolution, uint32_t n_parts) {
  plan::PartsSpec spec;
  spec.shape.kind = kernels::NormKind::kLayer;
  spec.shape.n_parts = n_parts;
  spec.shape.eps = kEps;
  spec.gamma = {convolution + ".norm.weight"};
  return b.unary(b.norm_parts(x, spec), Unary::kRelu);
}

}  // namespace

base::Result<void> read_gemma4_audio_encoder(const formats::ModelFile&, EncoderConfig& c) {
  if (c.n_bins % kCellFrames != 0) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"clip.audio.num_mel_bins\" is {}; it must be a "
                                  "multiple of {}.",
                                  c.n_bins, kCellFrames));
  }
  c.sound.cells = true;
  c.sound.stack = c.n_bins / kCellFrames;
  return {};
}

// The convolutions as matrices: the first with columns up to a whole vector, the taps of the second
// one after the other.
base::Result<void> arrange_gemma4_audio_encoder(formats::ModelFile& file, const EncoderConfig&) {
  const std::string first = std::string(kConvolutions[0]) + ".weight",
                    second = std::string(kConvolutions[1]) + ".weight";
  const uint64_t middle = elements_of(file, first) / kCellTaps;
  const uint64_t last = middle > 0 ? elements_of(file, second) / (middle * kCellTaps) : 0;
  PUNA_TRY(append_zero_columns(file, first, middle, kCellTaps, kTapColumns - kCellTaps));
  PUNA_TRY(reshape_tensor(file, second, {last, middle, kCellTaps}));
  return view_tensor(file, second, {last, kCellTaps * middle}, Moves::kElements,
                     [](formats::Strided& view) { view.swap(1, 2); });
}

base::Result<plan::Graph> build_gemma4_audio_encoder(const formats::ModelFile& file,
                                                     const EncoderConfig& c) {
  Builder b(file, c.n_heads);
  // A row is a cell of what the second convolution gives: it reads 3 x 3 cells of the first.
  std::vector<Builder::Product> taps;
  for (uint32_t i = 0; i < kCellTaps; ++i) {
    taps.push_back({std::string(kConvolutions[0]) + ".weight",
                    b.input(fmt::format("tap {}", i), kTapColumns)});
  }
  const Value earlier = b.input("before", 1);
  Value x = channels(b, b.beside(taps), kConvolutions[0], kCellTaps);
  x = channels(b, b.matmul({std::string(kConvolutions[1]) + ".weight"}, x), kConvolutions[1], 1);
  x = b.matmul({"a.input_projection.weight"}, b.merge(x, c.sound.stack));
  Layers layers(b, c, b.merge(earlier, c.sound.stack));
  for (uint32_t l = 0; l < c.n_layers; ++l) x = layers.block(l, x);
  x = b.matmul({"a.pre_encode.out.weight"}, x);
  plan::PartsSpec norm;
  norm.shape.eps = kEps;
  return b.finish_embeddings(b.matmul({"mm.a.input_projection.weight"}, b.norm_parts(x, norm)));
}

}  // namespace puna::models
