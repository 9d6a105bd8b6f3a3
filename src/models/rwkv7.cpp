// RWKV-7, "Goose" (Peng et al. 2025, arXiv 2503.14456): no attention and no positions. The time mix
// keeps a matrix for each head, changed by a delta rule whose decay and rate are of each column and
// hang on the token; what is taken away and what is put in have keys of their own. Values are mixed
// with those of the first layer. The channel mix is a squared ReLU.

#include "models/rwkv_layers.h"

namespace puna::models {
namespace {

using kernels::Activation;
using plan::Builder;
using plan::StateId;
using plan::Value;

class TimeMix {
 public:
  explicit TimeMix(const RwkvConfig& rwkv) : rwkv_(rwkv) {}

  Value operator()(Builder& b, uint32_t l, Value h) {
    const auto name = [&](const char* part) { return layer_name(l, part); };
    const bool gated = b.has(name("time_mix_g1"));
    const StateId state = b.shift_state(l, "time_shift", h);
    const auto mixed = [&](uint32_t part, bool keeps = false) {
      plan::ShiftMix mix{name("time_mix_lerp_fused")};
      mix.part = part;
      return b.shift(h, mix, state, keeps);
    };
    const Value for_r = mixed(0), for_decay = mixed(1), for_k = mixed(2), for_v = mixed(3);
    const Value for_rate = mixed(4, /*keeps=*/!gated);

    const Value decay = b.activated(name("time_mix_w1"), for_decay, Activation::kTanh);
    const Value rate = b.matmul({name("time_mix_a1")}, for_rate);
    std::vector<Builder::Product> products = {{name("time_mix_receptance"), for_r},
                                              {name("time_mix_key"), for_k},
                                              {name("time_mix_w2"), decay},
                                              {name("time_mix_a2"), rate}};
    plan::WkvSpec spec;
    spec.layer = l;
    spec.constants = {name("time_mix_w0"), name("time_mix_r_k"), name("time_mix_a0"),
                      name("time_mix_k_k"), name("time_mix_k_a")};
    spec.shape = {kernels::WkvRule::kSeven, rwkv_.n_heads, rwkv_.head_dim};
    if (l == 0) {
      first_values_ = b.matmul({name("time_mix_value")}, for_v);
    } else {
      spec.shape.mixes_values = true;
      spec.constants.push_back(name("time_mix_v0"));
      products.push_back({name("time_mix_value"), for_v});
      products.push_back({name("time_mix_v2"), b.matmul({name("time_mix_v1")}, for_v)});
    }
    const Builder::Wkv out = b.wkv(b.beside(products), first_values_, spec);
    norm_heads(b, rwkv_, l, out.y);
    Value y = b.add(out.y, *out.extra);
    if (gated) {
      const Value low = b.unary(b.matmul({name("time_mix_g1")}, mixed(5, /*keeps=*/true)),
                                kernels::Unary::kSigmoid);
      y = b.multiply(y, b.matmul({name("time_mix_g2")}, low), /*part=*/0);
    }
    return b.matmul({name("time_mix_output")}, y);
  }

 private:
  RwkvConfig rwkv_;
  Value first_values_;
};

Value channel_mix(Builder& b, uint32_t l, Value h) {
  const StateId state = b.shift_state(l, "channel_shift", h);
  const Value x = b.shift(h, {layer_name(l, "channel_mix_lerp_k")}, state, /*keeps=*/true);
  const Value key = b.activated(layer_name(l, "channel_mix_key"), x, Activation::kReluSquared);
  return b.matmul({layer_name(l, "channel_mix_value")}, key);
}

}  // namespace

base::Result<plan::Graph> build_rwkv7(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const RwkvConfig rwkv, rwkv_config(file, c));
  PUNA_TRY(check_rows(
      file, c,
      {{"time_mix_receptance", c.hidden},
       {"time_mix_key", c.hidden},
       {"time_mix_value", c.hidden},
       {"time_mix_w2", c.hidden},
       {"time_mix_a2", c.hidden},
       {"time_mix_v2", c.hidden},
       {"time_mix_g2", c.hidden},
       {"time_mix_lerp_fused", file.find_tensor(layer_name(0, "time_mix_g1")) ? 6u : 5u}}));
  RwkvLayers layers;
  layers.time_mix = TimeMix(rwkv);
  layers.channel_mix = channel_mix;
  Builder b(file, /*n_heads=*/0);
  return finish_rwkv(b, c, rwkv, layers);
}

}  // namespace puna::models
