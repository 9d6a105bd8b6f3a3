#include "quant/mix.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace puna::quant {

namespace {

enum class Kind { kPlain, kQ2K, kQ2KS, kQ3KS, kQ3KM, kQ3KL, kQ4KS, kQ4KM, kQ5KS, kQ5KM };

struct Row {
  Mix mix;
  Kind kind;
};

constexpr Row kRows[] = {
    {{"f32", Type::kF32, 0}, Kind::kPlain},     {{"f16", Type::kF16, 1}, Kind::kPlain},
    {{"bf16", Type::kBf16, 32}, Kind::kPlain},  {{"q4_0", Type::kQ4_0, 2}, Kind::kPlain},
    {{"q4_1", Type::kQ4_1, 3}, Kind::kPlain},   {{"q5_0", Type::kQ5_0, 8}, Kind::kPlain},
    {{"q5_1", Type::kQ5_1, 9}, Kind::kPlain},   {{"q8_0", Type::kQ8_0, 7}, Kind::kPlain},
    {{"q2_k", Type::kQ2_K, 10}, Kind::kQ2K},    {{"q2_k_s", Type::kQ2_K, 21}, Kind::kQ2KS},
    {{"q3_k_s", Type::kQ3_K, 11}, Kind::kQ3KS}, {{"q3_k_m", Type::kQ3_K, 12}, Kind::kQ3KM},
    {{"q3_k_l", Type::kQ3_K, 13}, Kind::kQ3KL}, {{"q4_k_s", Type::kQ4_K, 14}, Kind::kQ4KS},
    {{"q4_k_m", Type::kQ4_K, 15}, Kind::kQ4KM}, {{"q5_k_s", Type::kQ5_K, 16}, Kind::kQ5KS},
    {{"q5_k_m", Type::kQ5_K, 17}, Kind::kQ5KM}, {{"q6_k", Type::kQ6_K, 18}, Kind::kPlain},
};

// Parts of the names of matrices that are too small or too sensitive.
constexpr std::string_view kKept[] = {
    "_norm.weight", "ffn_gate_inp.weight", "altup", "laurel", "per_layer_model_proj", "ssm_conv1d",
    "shortconv.conv.weight", "attn_rel_b.weight",
    // RWKV: products of low rank, and what is added by part.
    "time_mix_first.weight", "time_mix_lerp_fused.weight", "time_mix_w1.weight",
    "time_mix_w2.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_v1.weight",
    "time_mix_v2.weight", "time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight"};

constexpr size_t kRowCount = std::size(kRows);

constexpr auto kMixes = [] {
  std::array<Mix, kRowCount> mixes{};
  for (size_t i = 0; i < kRowCount; ++i) mixes[i] = kRows[i].mix;
  return mixes;
}();

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_embedding(std::string_view name) {
  return name == "token_embd.weight" || name == "per_layer_token_embd.weight";
}

// The first and last eighth of the layers, and every third between, lose most from few bits.
bool is_sensitive_layer(int layer, int n_layers) {
  return layer < n_layers / 8 || layer >= 7 * n_layers / 8 || (layer - n_layers / 8) % 3 == 2;
}

Type value_type(Kind kind, Type base, int layer, const MixModel& model) {
  Type type = base;
  switch (kind) {
    case Kind::kQ2K:
      type = model.n_gqa >= 4 ? Type::kQ4_K : Type::kQ3_K;
      break;
    case Kind::kQ2KS:
      type = model.n_gqa >= 4 ? Type::kQ4_K : base;
      break;
    case Kind::kQ3KM:
      type = layer < 2 ? Type::kQ5_K : Type::kQ4_K;
      break;
    case Kind::kQ3KL:
      type = Type::kQ5_K;
      break;
    case Kind::kQ4KS:
      type = layer < 4 ? Type::kQ5_K : base;
      break;
    case Kind::kQ4KM:
    case Kind::kQ5KM:
      type = is_sensitive_layer(layer, model.n_layers) ? Type::kQ6_K : base;
      break;
    default:
      break;
  }
  // Of 80-layer models with grouped queries (70B) attn_v is small beside attn_q, so a step up costs
  // little.
  if (model.n_layers == 80 && model.n_gqa > 1 && (type == Type::kQ3_K || type == Type::kQ4_K))
    type = Type::kQ5_K;
  return type;
}

Type down_type(Kind kind, Type base, int layer, int n_layers) {
  switch (kind) {
    case Kind::kQ2K:
      return Type::kQ3_K;
    case Kind::kQ2KS:
      return layer < n_layers / 8 ? Type::kQ4_K : base;
    case Kind::kQ3KM:
      return layer < n_layers / 16 ? Type::kQ5_K : Type::kQ4_K;
    case Kind::kQ3KL:
      return Type::kQ5_K;
    case Kind::kQ4KS:
      return layer < n_layers / 8 ? Type::kQ5_K : base;
    case Kind::kQ4KM:
    case Kind::kQ5KM:
      return is_sensitive_layer(layer, n_layers) ? Type::kQ6_K : base;
    default:
      return base;
  }
}

Type attention_output_type(Kind kind, Type base, int n_experts) {
  if (n_experts == 8) {
    const bool small = kind == Kind::kQ2K || kind == Kind::kQ3KS || kind == Kind::kQ3KM ||
                       kind == Kind::kQ4KS || kind == Kind::kQ4KM;
    return small ? Type::kQ5_K : base;
  }
  switch (kind) {
    case Kind::kQ2K:
      return Type::kQ3_K;
    case Kind::kQ3KM:
      return Type::kQ4_K;
    case Kind::kQ3KL:
      return Type::kQ5_K;
    default:
      return base;
  }
}

Type wanted_type(const Row& row, std::string_view name, int layer, const MixModel& model) {
  const Type base = row.mix.base;
  if (info(base).block_elements == 1) return base;
  if (name == "output.weight" || (is_embedding(name) && model.tied_embeddings))
    return base == Type::kQ8_0 ? Type::kQ8_0 : Type::kQ6_K;
  // The K mixes treat a fused QKV as they treat attn_v.
  if (contains(name, "attn_v.weight") || contains(name, "attn_qkv.weight") ||
      contains(name, "attn_kv_b.weight")) {
    return model.n_experts == 8 ? Type::kQ8_0 : value_type(row.kind, base, layer, model);
  }
  if (contains(name, "attn_k.weight") && model.n_experts == 8) return Type::kQ8_0;
  if (contains(name, "ffn_down")) return down_type(row.kind, base, layer, model.n_layers);
  if (contains(name, "attn_output.weight"))
    return attention_output_type(row.kind, base, model.n_experts);
  return base;
}

}  // namespace

std::span<const Mix> mixes() { return kMixes; }

const Mix* find_mix(std::string_view name) {
  char lower[16];
  if (name.size() + 2 > sizeof(lower)) return nullptr;
  std::transform(name.begin(), name.end(), lower, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view wanted(lower, name.size());
  if (wanted == "q3_k" || wanted == "q4_k" || wanted == "q5_k") {
    lower[name.size()] = '_';
    lower[name.size() + 1] = 'm';
    wanted = std::string_view(lower, name.size() + 2);
  }
  const auto it = std::find_if(kMixes.begin(), kMixes.end(),
                               [&](const Mix& mix) { return mix.name == wanted; });
  return it == kMixes.end() ? nullptr : &*it;
}

Type wanted_type(const Mix& mix, std::string_view name, int layer, const MixModel& model) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.mix.name == mix.name; });
  return row == std::end(kRows) ? mix.base : wanted_type(*row, name, layer, model);
}

Type fitting_type(Type type, uint64_t columns) {
  if (columns % info(type).block_elements == 0) return type;
  Type smaller = type;
  switch (type) {
    case Type::kQ2_K:
    case Type::kQ3_K:
      smaller = Type::kQ4_0;
      break;
    case Type::kQ4_K:
      smaller = Type::kQ5_0;
      break;
    case Type::kQ5_K:
      smaller = Type::kQ5_1;
      break;
    case Type::kQ6_K:
      smaller = Type::kQ8_0;
      break;
    default:
      break;
  }
  return columns % info(smaller).block_elements == 0 ? smaller : Type::kF16;
}

bool is_mixed(std::string_view name, size_t n_dimensions) {
  if (n_dimensions < 2 || !name.ends_with("weight")) return false;
  if (name == "position_embd.weight" || name == "token_types.weight") return false;
  return std::none_of(std::begin(kKept), std::end(kKept),
                      [&](std::string_view part) { return contains(name, part); });
}

}  // namespace puna::quant
