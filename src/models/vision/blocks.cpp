#include "models/vision/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace puna::models {

using kernels::Activation;
using plan::Builder;
using plan::Value;

std::string encoder_name(const EncoderConfig& c, uint32_t layer, std::string_view part) {
  return fmt::format("{}.blk.{}.{}.weight", c.prefix, layer, part);
}

Value encoder_norm(Builder& b, Value x, const std::string& weight, float eps) {
  if (b.has(plan::bias_of(weight))) return b.layer_norm(x, weight, eps, /*apart=*/true);
  return b.rms_norm(x, weight, eps);
}

kernels::MropeShape grid_rope(const EncoderConfig& c, kernels::RopePairs pairs,
                              kernels::SectionOrder order, float base) {
  kernels::MropeShape shape;
  shape.rope.pairs = pairs;
  shape.rope.n_rot = c.head_dim();
  shape.rope.base = base;
  shape.sections = {c.head_dim() / 4, c.head_dim() / 4, 0, 0};
  shape.order = order;
  shape.head_dim = c.head_dim();
  return shape;
}

Value gelu_mlp(Builder& b, const std::string& first, const std::string& second, Value x) {
  return b.matmul({second}, b.activated(first, x, Activation::kGeluErf));
}

namespace {

std::string bound(std::string_view weight, Side side, std::string_view end) {
  return fmt::format("{}.{}_{}", weight.substr(0, weight.rfind('.')),
                     side == Side::kInput ? "input" : "output", end);
}

}  // namespace

Value within_bounds(Builder& b, Value x, std::string_view weight, Side side, bool apart) {
  const std::string low = bound(weight, side, "min");
  return b.has(low) ? b.clamp(x, low, bound(weight, side, "max"), apart) : x;
}

Value bounded_product(Builder& b, const std::string& weight, Value x, bool stays) {
  x = within_bounds(b, x, weight, Side::kInput, stays);
  return within_bounds(b, b.matmul({weight}, x), weight, Side::kOutput);
}

PictureInputs picture_inputs(Builder& b, const EncoderConfig& c) {
  const uint32_t n = 3 * c.patch_size * c.patch_size;
  const Value patches = b.input("patches", n);
  PictureInputs out;
  out.x = b.matmul({"v.patch_embd.weight"}, patches);
  // The second frame of a film; a picture that stands still is its own.
  if (b.has("v.patch_embd.weight.1"))
    out.x = b.add(out.x, b.matmul({"v.patch_embd.weight.1"}, patches));
  if (c.rows.added != AddedRows::kNone) out.x = b.add(out.x, b.input("added", c.hidden));
  if (c.rows.grid) out.positions = b.input("positions", kernels::kSections);
  if (c.rows.window > 0) out.spans = b.input("spans", 2);
  return out;
}

namespace {

bool has_bounds(Builder& b, const std::vector<std::string>& weights) {
  return std::ranges::any_of(weights, [&](const std::string& weight) {
    return b.has(bound(weight, Side::kInput, "min")) || b.has(bound(weight, Side::kOutput, "min"));
  });
}

// Products of one x by weights of as many rows, side by side, each within its bounds; where one has
// bounds, all must have them. x may change.
Value bounded_products(Builder& b, const std::vector<std::string>& weights, Value x) {
  if (!has_bounds(b, weights)) return b.matmul(weights, x);
  std::vector<Builder::Product> products;
  std::vector<std::string> low, high;
  for (const std::string& weight : weights) {
    const bool is_last = products.size() + 1 == weights.size();
    const Value bounded = b.clamp(x, bound(weight, Side::kInput, "min"),
                                  bound(weight, Side::kInput, "max"), /*apart=*/!is_last);
    products.push_back({weight, bounded});
    low.push_back(bound(weight, Side::kOutput, "min"));
    high.push_back(bound(weight, Side::kOutput, "max"));
  }
  const auto n = static_cast<uint32_t>(b.rows_of_tensor(weights.front()));
  return b.clamp_parts(b.beside(products), n, low, high);
}

Value attention(Builder& b, const EncoderConfig& c, uint32_t l, Value h, const EncoderBlock& how) {
  const std::string fused = encoder_name(c, l, "attn_qkv");
  const Value qkv =
      b.has(fused) ? b.matmul({fused}, h)
                   : bounded_products(b,
                                      {encoder_name(c, l, "attn_q"), encoder_name(c, l, "attn_k"),
                                       encoder_name(c, l, "attn_v")},
                                      h);
  const auto norm_heads = [&](const std::string& gamma, uint32_t first) {
    plan::PartsSpec spec;
    spec.shape = {kernels::NormKind::kRms, c.head_dim(), c.n_heads, 0,
                  first * c.hidden,        false,        c.eps};
    if (!gamma.empty()) spec.gamma = {gamma};
    b.norm_parts(qkv, spec);
  };
  if (b.has(encoder_name(c, l, "attn_q_norm"))) norm_heads(encoder_name(c, l, "attn_q_norm"), 0);
  if (b.has(encoder_name(c, l, "attn_k_norm"))) norm_heads(encoder_name(c, l, "attn_k_norm"), 1);
  if (how.v_norm) norm_heads("", 2);
  if (how.positions) {
    kernels::MropeShape rope = how.rope;
    rope.n_heads = 2 * c.n_heads;
    b.turn(qkv, *how.positions, rope, fmt::format("{}.blk.{}.rope", c.prefix, l));
  }
  plan::OwnAttentionSpec spec;
  spec.label = fmt::format("{}.blk.{}.attention", c.prefix, l);
  spec.head_dim = c.head_dim();
  spec.scale = how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<float>(c.head_dim()));
  spec.spans = how.spans;
  return bounded_product(b, encoder_name(c, l, "attn_out"), b.own_attention(qkv, spec));
}

// Files of the first converters for LLaVA have the names of up and down the other way round.
bool names_are_swapped(Builder& b, const EncoderConfig& c, uint32_t l) {
  return c.ffn != c.hidden && b.rows_of_tensor(encoder_name(c, l, "ffn_up")) == c.hidden &&
         b.rows_of_tensor(encoder_name(c, l, "ffn_down")) == c.ffn;
}

Value ffn(Builder& b, const EncoderConfig& c, uint32_t l, Value h) {
  const std::string gate = encoder_name(c, l, "ffn_gate");
  std::string up = encoder_name(c, l, "ffn_up"), down = encoder_name(c, l, "ffn_down");
  if (names_are_swapped(b, c, l)) std::swap(up, down);
  const Value hidden = !b.has(gate) ? b.activated(up, h, c.activation)
                       : has_bounds(b, {gate, up})
                           ? b.glu(bounded_products(b, {gate, up}, h), c.activation)
                           : b.gated(gate, up, h, c.activation);
  return bounded_product(b, down, hidden);
}

// What a branch goes through before it is added.
Value after(Builder& b, const EncoderConfig& c, uint32_t l, Value y, std::string_view norm,
            std::string_view scale) {
  const std::string norm_name = encoder_name(c, l, norm), scale_name = encoder_name(c, l, scale);
  if (b.has(norm_name)) y = b.rms_norm(y, norm_name, c.eps);
  if (b.has(scale_name)) y = b.by_vector(y, kernels::Binary::kMultiply, scale_name);
  return y;
}

}  // namespace

Value encoder_block(Builder& b, const EncoderConfig& c, uint32_t l, Value x,
                    const EncoderBlock& how) {
  Value y = attention(b, c, l, encoder_norm(b, x, encoder_name(c, l, "ln1"), c.eps), how);
  x = b.add(x, after(b, c, l, y, "attn_post_norm", "ls1"));
  y = ffn(b, c, l, encoder_norm(b, x, encoder_name(c, l, "ln2"), c.eps));
  return b.add(x, after(b, c, l, y, "ffn_post_norm", "ls2"));
}

}  // namespace puna::models
