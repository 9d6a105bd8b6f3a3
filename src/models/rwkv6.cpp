// RWKV-6, "Finch" (Peng et al. 2024, arXiv 2404.05892): no attention and no positions. The time mix
// keeps a matrix for each head, whose columns decay by what the token says; how much of the row
// before goes into r, k, v, the decay and the gate hangs on the token too, by products of low rank.
// The channel mix is a squared ReLU behind a gate. A file may have the residual stream halved every
// so many layers.

#include <algorithm>

#include "models/rwkv_layers.h"

namespace puna::models {
namespace {

constexpr uint32_t kMixes = 5;

using kernels::Activation;
using plan::Builder;
using plan::StateId;
using plan::Value;

// The inputs of the five products, in the order that files have them.
struct Mixed {
  Value decay, key, value, receptance, gate;
};

Mixed mix(Builder& b, uint32_t l, Value h) {
  const auto name = [&](const char* part) { return layer_name(l, part); };
  const StateId state = b.shift_state(l, "time_shift", h);
  const Value first = b.shift(h, {name("time_mix_lerp_x")}, state);
  const Value by = b.matmul_by_parts(name("time_mix_w2"), kMixes,
                                     b.activated(name("time_mix_w1"), first, Activation::kTanh));
  const std::string fused = name("time_mix_lerp_fused");
  const auto mixed = [&](uint32_t part, const char* alone, bool keeps = false) {
    plan::ShiftMix mix{b.has(fused) ? fused : name(alone)};
    mix.part = b.has(fused) ? part : 0;
    mix.by = by;
    mix.by_part = part;
    return b.shift(h, mix, state, keeps);
  };
  // Braces: in this order, so that the last one keeps.
  return Mixed{mixed(0, "time_mix_lerp_w"), mixed(1, "time_mix_lerp_k"),
               mixed(2, "time_mix_lerp_v"), mixed(3, "time_mix_lerp_r"),
               mixed(4, "time_mix_lerp_g", /*keeps=*/true)};
}

Value time_mix(Builder& b, const RwkvConfig& rwkv, uint32_t l, Value h) {
  const auto name = [&](const char* part) { return layer_name(l, part); };
  const Mixed x = mix(b, l, h);
  const Value decay = b.activated(name("time_mix_decay_w1"), x.decay, Activation::kTanh);
  const Value in = b.beside({{name("time_mix_receptance"), x.receptance},
                             {name("time_mix_key"), x.key},
                             {name("time_mix_decay_w2"), decay}});
  const Value values = b.matmul({name("time_mix_value")}, x.value);
  const Value gate = b.activated(name("time_mix_gate"), x.gate, Activation::kSilu);
  plan::WkvSpec spec;
  spec.layer = l;
  spec.constants = {name("time_mix_decay"), name("time_mix_first")};
  spec.shape = {kernels::WkvRule::kSix, rwkv.n_heads, rwkv.head_dim};
  const Value y = b.wkv(in, values, spec).y;
  norm_heads(b, rwkv, l, y);
  return b.matmul({name("time_mix_output")}, b.multiply(y, gate, /*part=*/0));
}

Value channel_mix(Builder& b, uint32_t l, Value h) {
  const auto name = [&](const char* part) { return layer_name(l, part); };
  const StateId state = b.shift_state(l, "channel_shift", h);
  const Value for_key = b.shift(h, {name("channel_mix_lerp_k")}, state);
  const Value for_gate = b.shift(h, {name("channel_mix_lerp_r")}, state, /*keeps=*/true);
  const Value key = b.activated(name("channel_mix_key"), for_key, Activation::kReluSquared);
  return b.gate(b.matmul({name("channel_mix_value")}, key),
                b.matmul({name("channel_mix_receptance")}, for_gate));
}

}  // namespace

base::Result<plan::Graph> build_rwkv6(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const RwkvConfig rwkv, rwkv_config(file, c));
  PUNA_TRY(check_rows(file, c,
                      {{"time_mix_receptance", c.hidden},
                       {"time_mix_key", c.hidden},
                       {"time_mix_decay_w2", c.hidden},
                       {"time_mix_gate", c.hidden},
                       {"time_mix_w2", uint64_t{kMixes} * c.hidden},
                       {"time_mix_lerp_fused", kMixes}}));
  RwkvLayers layers;
  layers.time_mix = [&](Builder& b, uint32_t l, Value h) { return time_mix(b, rwkv, l, h); };
  layers.channel_mix = channel_mix;
  const std::string halved = c.architecture + ".rescale_every_n_layers";
  PUNA_TRY(const uint64_t every, file.get_uint(halved, 0));
  layers.halved_every = static_cast<uint32_t>(std::min<uint64_t>(every, c.n_layers + 1));
  Builder b(file, /*n_heads=*/0);
  return finish_rwkv(b, c, rwkv, layers);
}

}  // namespace puna::models
