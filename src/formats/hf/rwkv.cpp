// RWKV-6 and RWKV-7. Folders of RWKV-6 are those of RWKV's own class; of RWKV-7 there are two
// dialects of names, RWKV's ("blocks.0.attention.w1", products of low rank stored as x is
// multiplied with them from the left) and flash-linear-attention's ("layers.0.attn.w_lora").

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr uint64_t kContext = uint64_t{1} << 20;  // there is no bound
constexpr double kHeadNormEps = 64e-5;            // GGUF has no key for it
constexpr uint64_t kMostHalvings = 100;           // f32 has no room for many more

using Shape = std::vector<uint64_t>;

// Other classes of the same model type call their tensors otherwise, or compute something else.
Result<void> check_class(const Mapping& m, std::initializer_list<std::string_view> known) {
  PUNA_TRY(const std::vector<std::string> classes, m.config().texts("architectures"));
  std::string names;
  for (const std::string_view name : known) {
    for (const std::string& given : classes) {
      if (given == name) return {};
    }
    names += (names.empty() ? "" : " and ") + std::string(name);
  }
  if (classes.empty()) return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The key \"architectures\" of config.json says {}; of the model "
                                "type \"{}\" {} can be read.",
                                classes.front(), m.architecture(), names));
}

// A size that a tensor has must be what config.json says, where it says anything.
Result<void> check_size(const Mapping& m, std::string_view key, uint64_t found,
                        std::string_view tensor) {
  if (key.empty()) return {};
  PUNA_TRY(const uint64_t given, m.config().count(key, found));
  if (given == found) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("The key \"{}\" of config.json is {}, but the tensor \"{}\" is "
                                "made for {}.",
                                key, given, tensor, found));
}

// The metadata that both have. The keys are those of a head's elements and of the norms' epsilon.
Result<void> put_keys(Mapping& m, uint64_t head, std::string_view head_key,
                      std::string_view eps_key) {
  const Config& c = m.config();
  if (head == 0 || m.hidden == 0 || m.hidden % head != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" of config.json gives heads of {} elements, which "
                                  "do not share the {} of \"hidden_size\".",
                                  head_key, head, m.hidden));
  }
  PUNA_TRY(const double eps, c.real(eps_key));
  m.set("context_length", kContext);
  m.set("embedding_length", m.hidden);
  m.set("block_count", uint64_t{m.n_layers});
  m.set("attention.head_count", uint64_t{0});
  m.set("attention.layer_norm_epsilon", eps);
  m.set("wkv.head_size", head);
  constexpr Key kKeys[] = {{"vocab_size", "vocab_size", Key::Kind::kCount, false}};
  return m.copy(kKeys);
}

// The folder's tensor as one of `shape`, which it fills.
Result<void> put_shaped(Mapping& m, const std::string& hf, std::string gguf, Shape shape) {
  PUNA_TRY(Strided view, m.view(hf));
  return m.put(std::move(gguf), {std::move(view)}, std::move(shape));
}

// The last two of n_dims dimensions change places. Gives the shape that comes of it.
Result<Shape> put_turned(Mapping& m, const std::string& hf, std::string gguf, size_t n_dims) {
  PUNA_TRY(Strided view, m.view(hf));
  Shape shape = view.tensor().shape;
  if (shape.size() != n_dims) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("Tensor \"{}\" has {} dimensions, but {} are expected.", hf,
                                  shape.size(), n_dims));
  }
  view.swap(n_dims - 2, n_dims - 1);
  std::swap(shape[n_dims - 2], shape[n_dims - 1]);
  PUNA_TRY(m.put(std::move(gguf), {std::move(view)}, shape));
  return shape;
}

// How much of the row before goes into each input of the time mix: PREFIX + letter, side by side.
Result<void> put_mixes(Mapping& m, uint32_t l, const std::string& prefix,
                       std::string_view letters) {
  std::vector<Strided> parts;
  for (const char letter : letters) {
    const std::string name = prefix + letter;
    PUNA_TRY(Strided view, m.view(name));
    if (view.elements() != m.hidden) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" has {} elements, but the {} of \"hidden_size\" "
                                    "are expected.",
                                    name, view.elements(), m.hidden));
    }
    parts.push_back(std::move(view));
  }
  return m.put(layer_name(l, "time_mix_lerp_fused.weight"), std::move(parts),
               {letters.size(), 1, 1, m.hidden});
}

// The rows of the channel mix's key are the width of the feed-forward block.
Result<void> put_ffn_size(Mapping& m, const std::string& key) {
  PUNA_TRY(const Strided view, m.view(key));
  const Shape& shape = view.tensor().shape;
  const uint64_t rows = shape.empty() ? 0 : shape.front();
  PUNA_TRY(check_size(m, "intermediate_size", rows, key));
  m.set("feed_forward_length", rows);
  return {};
}

// A head's elements are the columns of a tensor [heads, elements].
Result<void> check_head(Mapping& m, std::string_view head_key, const std::string& tensor) {
  PUNA_TRY(const Strided view, m.view(tensor));
  const Shape& shape = view.tensor().shape;
  if (shape.size() == 2) return check_size(m, head_key, shape[1], tensor);
  return {};
}

Result<void> put_rwkv6_layer(Mapping& m, uint32_t l, uint64_t head, uint64_t halvings) {
  const std::string prefix = fmt::format("rwkv.blocks.{}.", l);
  const std::string time = prefix + "attention.", channel = prefix + "feed_forward.";
  constexpr Rename kLayer[] = {
      {"ln1", "attn_norm"},
      {"ln2", "attn_norm_2"},
      {"attention.ln_x", "time_mix_ln"},
      {"attention.receptance", "time_mix_receptance"},
      {"attention.key", "time_mix_key"},
      {"attention.value", "time_mix_value"},
      {"attention.gate", "time_mix_gate"},
      {"feed_forward.key", "channel_mix_key"},
      {"feed_forward.receptance", "channel_mix_receptance"},
  };
  PUNA_TRY(m.rename_layer(l, prefix, kLayer));
  const auto name = [&](const char* part) { return layer_name(l, part); };
  // What is added to a residual stream that has been halved is halved as often.
  const std::pair<std::string, const char*> halved[] = {
      {time + "output.weight", "time_mix_output.weight"},
      {channel + "value.weight", "channel_mix_value.weight"}};
  for (const auto& [hf, gguf] : halved) {
    PUNA_TRY(Strided view, m.view(hf));
    view.times(std::ldexp(1.0, -static_cast<int>(halvings)));
    Shape shape = view.tensor().shape;
    PUNA_TRY(m.put(name(gguf), {std::move(view)}, std::move(shape)));
  }
  PUNA_TRY(put_shaped(m, time + "time_maa_x", name("time_mix_lerp_x.weight"), {m.hidden}));
  PUNA_TRY(put_shaped(m, time + "time_decay", name("time_mix_decay.weight"), {m.hidden}));
  PUNA_TRY(put_shaped(m, channel + "time_maa_k", name("channel_mix_lerp_k.weight"), {m.hidden}));
  PUNA_TRY(put_shaped(m, channel + "time_maa_r", name("channel_mix_lerp_r.weight"), {m.hidden}));
  PUNA_TRY(check_head(m, "head_size", time + "time_faaaa"));
  PUNA_TRY(
      put_shaped(m, time + "time_faaaa", name("time_mix_first.weight"), {m.hidden / head, head}));
  PUNA_TRY(put_mixes(m, l, time + "time_maa_", "wkvrg"));
  PUNA_TRY(put_turned(m, time + "time_maa_w1", name("time_mix_w1.weight"), 2));
  PUNA_TRY(const Shape mix, put_turned(m, time + "time_maa_w2", name("time_mix_w2.weight"), 3));
  PUNA_TRY(const Shape decay,
           put_turned(m, time + "time_decay_w1", name("time_mix_decay_w1.weight"), 2));
  PUNA_TRY(put_turned(m, time + "time_decay_w2", name("time_mix_decay_w2.weight"), 2));
  m.set("time_mix_extra_dim", mix[2]);
  m.set("time_decay_extra_dim", decay[0]);
  return {};
}

// What the modules of a layer begin with: "model.layers.", "attn.", "ffn.".
struct Places {
  std::string layers, time, channel;
};

Result<Places> find_places(Mapping& m) {
  for (const char* layers : {"model.layers.", "model.blocks."}) {
    for (const char* time : {"attn.", "attention.", "self_attn.", "attn.time_mixer.",
                             "attention.time_mixer.", "self_attn.time_mixer."}) {
      for (const char* channel : {"ffn.", "feed_forward."}) {
        const std::string first = fmt::format("{}0.", layers);
        if (m.find(first + time + "k_k") && m.find(first + channel + "key.weight"))
          return Places{layers, time, channel};
      }
    }
  }
  return base::fail(
      ErrorCode::kUnsupported,
      "The tensors are not called as in any folder of RWKV-7 that can be read: there is neither "
      "\"model.layers.0.attn.k_k\" (flash-linear-attention) nor \"model.blocks.0.attention.k_k\" "
      "(RWKV) with a key of the channel mix beside it.");
}

// Two products whose rank is low, and what is added to the second one.
struct LowRank {
  char letter;
  bool has_sum;
  // Of their rank: in GGUF, in RWKV's config.json, in flash-linear-attention's.
  std::string_view gguf_key, rwkv_key, fla_key;
};
constexpr LowRank kLowRanks[] = {
    {'w', true, "attention.decay_lora_rank", "lora_rank_decay", "decay_low_rank_dim"},
    {'a', true, "attention.iclr_lora_rank", "lora_rank_iclr", "a_low_rank_dim"},
    {'v', true, "attention.value_residual_mix_lora_rank", "lora_rank_value_residual_mix",
     "v_low_rank_dim"},
    {'g', false, "attention.gate_lora_rank", "lora_rank_gate", "gate_low_rank_dim"},
};

// `as` is the letter that GGUF has for it.
Result<void> put_low_rank(Mapping& m, uint32_t l, const std::string& time, const LowRank& part,
                          char as) {
  const std::string rwkv = time + part.letter, fla = rwkv + "_lora.lora.";
  const auto name = [&](int i) {
    return layer_name(l, fmt::format("time_mix_{}{}.weight", as, i));
  };
  const bool is_fla = m.find(fla + "0.weight") != nullptr;
  const std::string first = is_fla ? fla + "0.weight" : rwkv + "1";
  if (is_fla) {
    PUNA_TRY(m.rename(first, name(1)));
    PUNA_TRY(m.rename(fla + "2.weight", name(2)));
  } else {
    PUNA_TRY(put_turned(m, first, name(1), 2));
    PUNA_TRY(put_turned(m, rwkv + "2", name(2), 2));
  }
  if (part.has_sum)
    PUNA_TRY(put_shaped(m, is_fla ? fla + "2.bias" : rwkv + "0", name(0), {m.hidden}));
  const Shape& shape = m.find(first)->shape;
  const uint64_t rank = shape.empty() ? 0 : is_fla ? shape.front() : shape.back();
  PUNA_TRY(check_size(m, part.rwkv_key, rank, first));
  PUNA_TRY(check_size(m, part.fla_key, rank, first));
  m.set(part.gguf_key, rank);
  return {};
}

Result<void> put_low_ranks(Mapping& m, uint32_t l, const std::string& time, bool gated) {
  for (const LowRank& part : kLowRanks) {
    if (part.letter == 'g' && !gated) continue;
    if (l > 0 || part.letter != 'v') {
      PUNA_TRY(put_low_rank(m, l, time, part, part.letter));
      continue;
    }
    // The first layer has no values of one before to mix in. Some folders hold these tensors all
    // the same, and llama.cpp wants some to be there, of the rank of the rate.
    for (const char* unused : {"v0", "v1", "v2", "v_lora."}) m.ignore(time + unused);
    LowRank rate = kLowRanks[1];
    rate.gguf_key = part.gguf_key;
    PUNA_TRY(put_low_rank(m, l, time, rate, part.letter));
  }
  return {};
}

Result<void> put_rwkv7_layer(Mapping& m, uint32_t l, const Places& places,
                             std::string_view head_key, bool gated) {
  const std::string prefix = fmt::format("{}{}.", places.layers, l);
  const std::string time = prefix + places.time, channel = prefix + places.channel;
  constexpr Rename kNorms[] = {{"ln1", "attn_norm"},
                               {"attn_norm", "attn_norm"},
                               {"ln2", "attn_norm_2"},
                               {"ffn_norm", "attn_norm_2"}};
  constexpr Rename kTime[] = {
      {"ln_x", "time_mix_ln"},
      {"g_norm", "time_mix_ln"},
      {"receptance", "time_mix_receptance"},
      {"r_proj", "time_mix_receptance"},
      {"key", "time_mix_key"},
      {"k_proj", "time_mix_key"},
      {"value", "time_mix_value"},
      {"v_proj", "time_mix_value"},
      {"output", "time_mix_output"},
      {"o_proj", "time_mix_output"},
  };
  constexpr Rename kChannel[] = {{"key", "channel_mix_key"}, {"value", "channel_mix_value"}};
  PUNA_TRY(m.rename_layer(l, prefix, kNorms));
  PUNA_TRY(m.rename_layer(l, time, kTime));
  PUNA_TRY(m.rename_layer(l, channel, kChannel));
  const auto name = [&](const char* part) { return layer_name(l, part); };
  for (const std::string part : {"k_k", "k_a", "r_k"}) {
    PUNA_TRY(
        put_shaped(m, time + part, name(("time_mix_" + part + ".weight").c_str()), {m.hidden}));
  }
  PUNA_TRY(check_head(m, head_key, time + "r_k"));
  PUNA_TRY(put_shaped(m, channel + "x_k", name("channel_mix_lerp_k.weight"), {m.hidden}));
  const std::string_view letters = gated ? "rwkvag" : "rwkva";
  if (m.find(time + "x_x")) {
    PUNA_TRY(put_shaped(m, time + "x_x", name("time_mix_lerp_fused.weight"),
                        {letters.size(), 1, 1, m.hidden}));
  } else {
    PUNA_TRY(put_mixes(m, l, time + "x_", letters));
  }
  return put_low_ranks(m, l, time, gated);
}

// What the makers' code has options for and the forward pass has not.
Result<void> check_rwkv7_options(const Mapping& m, bool fla) {
  const Config& c = m.config();
  for (const char* key : {"attn", "qkv_size", "feed_forward_embed_size"})
    PUNA_TRY(c.must_be(key, Json()));
  for (const char* key : {"norm_first", "norm_bias"}) PUNA_TRY(c.must_be(key, true));
  PUNA_TRY(c.must_be("embedding_layer_norm_fused", false));
  PUNA_TRY(c.must_be("hidden_act", "sqrelu"));
  PUNA_TRY(c.must_be("head_size_divisor", 8));
  PUNA_TRY(c.must_be("group_norm_epsilon", kHeadNormEps));
  if (const Json* width = c.find("value_dim")) {
    const Json::Array one = {*width};
    for (const Json& item : width->is_array() ? width->items() : one) {
      if (item.is_integer() && item.integer() == static_cast<int64_t>(m.hidden)) continue;
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The key \"value_dim\" of config.json has {}; only the {} of "
                                    "\"hidden_size\" is supported for this model.",
                                    item.dump(), m.hidden));
    }
  }
  if (!fla) return c.must_be("attention_hidden_size", static_cast<int64_t>(m.hidden));
  // There the norm of heads goes by the other one's epsilon.
  PUNA_TRY(const double eps, c.real("norm_eps"));
  PUNA_TRY(const uint64_t head, c.count("head_dim"));
  const double product = eps * static_cast<double>(head);
  if (std::abs(product - kHeadNormEps) < 1e-3 * kHeadNormEps) return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The keys \"norm_eps\" and \"head_dim\" of config.json make {} the "
                                "epsilon of the norm of heads; only {} is supported.",
                                product, kHeadNormEps));
}

}  // namespace

Result<void> map_rwkv6(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(check_class(m, {"Rwkv6ForCausalLM"}));
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(const uint64_t head, c.count("head_size"));
  PUNA_TRY(put_keys(m, head, "head_size", "layer_norm_epsilon"));
  PUNA_TRY(c.must_be("head_size_divisor", 8));  // makes the epsilon of the norm of heads
  PUNA_TRY(c.must_be("attention_hidden_size", static_cast<int64_t>(m.hidden)));
  PUNA_TRY(const uint64_t every, c.count("rescale_every"));
  if (every > 0 && (m.n_layers - 1) / every > kMostHalvings) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"rescale_every\" of config.json is {}, which halves "
                                  "the {} layers of \"num_hidden_layers\" more than {} times.",
                                  every, m.n_layers, kMostHalvings));
  }
  m.set("rescale_every_n_layers", every);
  PUNA_TRY(m.rename("rwkv.embeddings.weight", "token_embd.weight"));
  constexpr std::pair<const char*, const char*> kNorms[] = {
      {"rwkv.blocks.0.pre_ln", "token_embd_norm"}, {"rwkv.ln_out", "output_norm"}};
  for (const auto& [hf, gguf] : kNorms) {
    for (const std::string part : {".weight", ".bias"}) PUNA_TRY(m.rename(hf + part, gguf + part));
  }
  PUNA_TRY(put_output(m, "head"));
  PUNA_TRY(put_ffn_size(m, "rwkv.blocks.0.feed_forward.key.weight"));
  for (uint32_t l = 0; l < m.n_layers; ++l)
    PUNA_TRY(put_rwkv6_layer(m, l, head, every > 0 ? l / every : 0));
  return {};
}

Result<void> map_rwkv7(Mapping& m) {
  PUNA_TRY(check_class(m, {"RWKV7ForCausalLM", "Rwkv7ForCausalLM"}));
  PUNA_TRY(m.read_sizes());
  const bool fla = !m.config().has("head_size");
  // Its class goes by the number of heads where it has no size of them.
  if (fla && !m.config().has("head_dim")) {
    PUNA_TRY(const uint64_t heads, m.config().count("num_heads", 0));
    if (heads > 0 && m.hidden % heads == 0)
      m.assume("head_dim", static_cast<int64_t>(m.hidden / heads));
  }
  const Config& c = m.config();
  const char* const head_key = fla ? "head_dim" : "head_size";
  PUNA_TRY(const uint64_t head, c.count(head_key));
  PUNA_TRY(put_keys(m, head, head_key, fla ? "norm_eps" : "layer_norm_epsilon"));
  PUNA_TRY(check_rwkv7_options(m, fla));
  PUNA_TRY(const bool gated, c.flag("wkv_has_gate", true));
  PUNA_TRY(const Places places, find_places(m));
  PUNA_TRY(m.rename("model.embeddings.weight", "token_embd.weight"));
  const std::pair<std::string, const char*> norms[] = {
      {"model.pre_ln", "token_embd_norm"},
      {places.layers + "0.pre_norm", "token_embd_norm"},
      {places.layers + "0.pre_ln", "token_embd_norm"},
      {"model.ln_out", "output_norm"},
      {"model.norm", "output_norm"}};
  for (const auto& [hf, gguf] : norms) {
    for (const std::string part : {".weight", ".bias"}) PUNA_TRY(m.rename(hf + part, gguf + part));
  }
  PUNA_TRY(put_output(m, m.find("head.weight") ? "head" : "lm_head"));
  PUNA_TRY(put_ffn_size(m, places.layers + "0." + places.channel + "key.weight"));
  for (uint32_t l = 0; l < m.n_layers; ++l)
    PUNA_TRY(put_rwkv7_layer(m, l, places, head_key, gated));
  return {};
}

}  // namespace puna::formats::hf
