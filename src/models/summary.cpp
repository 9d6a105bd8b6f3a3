#include "models/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace puna::models {
namespace {

// What the ops of a graph have in common and where they differ.
struct Facts {
  uint32_t n_attention = 0, n_own_keys = 0, n_windows = 0, n_plain = 0, n_experts = 0;
  uint32_t n_ssd = 0, n_scan = 0, n_delta = 0, n_conv = 0;
  bool sinks = false, factors = false, temperature = false, biases = false;
  float score_cap = 0.0f, logit_cap = 0.0f, max_alibi_bias = 0.0f;
  std::set<uint32_t> head_dims, kv_heads, windows, n_rot;
  std::set<float> bases;
  const kernels::MoeShape* experts = nullptr;
  const kernels::MlaShape* latent = nullptr;
};

// "64", or "32 to 64".
std::string range(const std::set<uint32_t>& values) {
  if (values.empty()) return "none";
  if (values.size() == 1) return std::to_string(*values.begin());
  return fmt::format("{} to {}", *values.begin(), *values.rbegin());
}

std::string of_layers(uint32_t n, const Config& config) {
  return n == config.n_layers ? std::string("in every layer")
                              : fmt::format("in {} of {} layers", n, config.n_layers);
}

void add_rope(const plan::RopeOp& op, Facts& facts) {
  facts.n_own_keys += op.appends;
  facts.factors |= op.freq_factors.has_value();
  facts.temperature |= op.rope.temperature.beta != 0;
  if (op.rope.n_rot == 0) {
    ++facts.n_plain;
    return;
  }
  facts.n_rot.insert(op.rope.n_rot);
  facts.bases.insert(op.rope.base);
}

void add_attention(const plan::Graph& graph, const plan::AttentionOp& op, Facts& facts) {
  ++facts.n_attention;
  if (op.append) add_rope(*op.append, facts);
  const plan::KvSpec& kv = graph.kv[op.layer];
  facts.head_dims.insert(kv.head_dim);
  facts.kv_heads.insert(kv.n_kv_heads);
  facts.sinks |= op.sinks.has_value();
  facts.biases |= op.biases.has_value();
  facts.score_cap = std::max(facts.score_cap, op.softcap);
  facts.max_alibi_bias = std::max(facts.max_alibi_bias, op.max_alibi_bias);
  if (op.window == 0) return;
  ++facts.n_windows;
  facts.windows.insert(op.window);
}

Facts read(const plan::Graph& graph) {
  Facts facts;
  for (const plan::Op& op : graph.ops) {
    if (const auto* rope = std::get_if<plan::RopeOp>(&op)) add_rope(*rope, facts);
    if (const auto* attention = std::get_if<plan::AttentionOp>(&op))
      add_attention(graph, *attention, facts);
    if (const auto* moe = std::get_if<plan::MoeOp>(&op)) {
      ++facts.n_experts;
      facts.experts = &moe->shape;
    }
    if (const auto* latent = std::get_if<plan::LatentOp>(&op)) {
      facts.latent = &latent->shape;
      facts.factors |= latent->freq_factors.has_value();
      facts.n_rot.insert(latent->shape.rope.n_rot);
      facts.bases.insert(latent->shape.rope.base);
    }
    facts.n_ssd += std::holds_alternative<plan::SsdOp>(op);
    facts.n_scan += std::holds_alternative<plan::ScanOp>(op);
    facts.n_delta += std::holds_alternative<plan::DeltaOp>(op);
    facts.n_conv += std::holds_alternative<plan::ConvOp>(op);
    if (const auto* cap = std::get_if<plan::SoftcapOp>(&op)) facts.logit_cap = cap->cap;
    if (const auto* product = std::get_if<plan::MatmulOp>(&op))
      facts.logit_cap = std::max(facts.logit_cap, product->softcap);
  }
  return facts;
}

bool has_weight(const plan::Graph& graph, std::string_view part) {
  return std::ranges::any_of(graph.weights, [&](const plan::WeightSpec& weight) {
    return weight.label.find(part) != std::string::npos;
  });
}

std::string attention_text(const Config& config, const plan::Graph& graph, const Facts& facts) {
  std::string text =
      facts.latent ? fmt::format("{} heads over {} latent and {} rotary elements a token",
                                 graph.n_heads, facts.latent->n_latent, facts.latent->rope.n_rot)
                   : fmt::format("{} heads over {} KV heads of {} elements", graph.n_heads,
                                 range(facts.kv_heads), range(facts.head_dims));
  if (!config.causal) text += ", every token sees all";
  if (facts.n_attention < config.n_layers) text += ", " + of_layers(facts.n_attention, config);
  if (facts.n_windows > 0) {
    text += fmt::format(", a window of {} {}", range(facts.windows),
                        of_layers(facts.n_windows, config));
  }
  if (facts.n_own_keys > 0 && facts.n_own_keys < facts.n_attention)
    text += ", keys of their own " + of_layers(facts.n_own_keys, config);
  if (facts.sinks) text += ", with sinks";
  if (facts.score_cap > 0) text += fmt::format(", scores capped at {:g}", facts.score_cap);
  if (facts.temperature) text += ", queries that grow with the position";
  return text;
}

std::string positions_text(const Config& config, const plan::Graph& graph, const Facts& facts) {
  if (facts.max_alibi_bias > 0) return "by the distance (ALiBi)";
  if (facts.biases) return "by the distance, in buckets";
  if (facts.n_rot.empty())
    return has_weight(graph, "position_embd") ? "learned" : "not in the attention";
  std::string text = "rotary over " + range(facts.n_rot);
  if (!facts.latent && facts.n_rot.size() == 1 && facts.head_dims.size() == 1 &&
      *facts.n_rot.begin() < *facts.head_dims.begin()) {
    text += fmt::format(" of {}", *facts.head_dims.begin());
  }
  text += fmt::format(" elements, base {:.10g}", fmt::join(facts.bases, " and "));
  if (config.rope_freq_scale != 1.0f) {
    text += fmt::format(", stretched {:g} times{}", 1 / config.rope_freq_scale,
                        config.yarn.original_context > 0 ? " by YaRN" : "");
  }
  if (facts.factors) text += ", frequencies by the file's factors";
  if (facts.n_plain > 0) text += ", none " + of_layers(facts.n_plain, config);
  return text;
}

// The layers that keep a state instead of keys and values, or beside them.
std::string recurrence_text(const Config& config, const plan::Graph& graph, const Facts& facts) {
  uint64_t bytes = 0;
  for (const plan::StateSpec& state : graph.states) bytes += state.n * sizeof(float);
  const auto [what, n] = facts.n_ssd > 0     ? std::pair("Mamba-2", facts.n_ssd)
                         : facts.n_scan > 0  ? std::pair("Mamba", facts.n_scan)
                         : facts.n_delta > 0 ? std::pair("gated delta rule", facts.n_delta)
                                             : std::pair("short convolution", facts.n_conv);
  return fmt::format("{} {}, {} bytes a sequence", what, of_layers(n, config), bytes);
}

std::string experts_text(const Config& config, const plan::Graph& graph, const Facts& facts) {
  const kernels::RouteParams& route = facts.experts->route;
  return fmt::format("{}, each {} wide, {} for each token{}, {}", route.n_experts,
                     facts.experts->ffn, route.n_chosen,
                     has_weight(graph, "shexp") ? " and a shared one" : "",
                     of_layers(facts.n_experts, config));
}

uint64_t cache_elements_a_token(const plan::Graph& graph) {
  uint64_t n = 0;
  for (const plan::KvSpec& kv : graph.kv)
    n += (kv.v_in_k ? 1 : 2) * uint64_t{kv.n_kv_heads} * kv.head_dim;
  return n;
}

std::string result_text(const Config& config, const plan::Graph& graph, const Facts& facts) {
  if (graph.embeds && pooling_of(config, {}) == Pooling::kRank) return "scores of its classifier";
  if (graph.embeds) {
    return fmt::format("embeddings of {}, pooling {}", graph.n_out(), name(pooling_of(config, {})));
  }
  return facts.logit_cap > 0 ? fmt::format("logits, capped at {:g}", facts.logit_cap) : "logits";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> summary(const Config& config,
                                                         const plan::Graph& graph) {
  const Facts facts = read(graph);
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("architecture", config.architecture);
  lines.emplace_back("layers", fmt::format("{}, {} wide{}", config.n_layers, config.hidden,
                                           has_weight(graph, "per_layer_token_embd")
                                               ? ", each with an embedding of its own"
                                               : ""));
  if (config.ffn > 0 && facts.n_experts < config.n_layers) {
    lines.emplace_back(
        "feed-forward",
        fmt::format("{}{}", config.ffn,
                    facts.n_experts == 0
                        ? std::string()
                        : ", " + of_layers(config.n_layers - facts.n_experts, config)));
  }
  if (facts.experts) lines.emplace_back("experts", experts_text(config, graph, facts));
  if (facts.n_attention > 0) {
    lines.emplace_back("attention", attention_text(config, graph, facts));
    lines.emplace_back("positions", positions_text(config, graph, facts));
  }
  if (!graph.states.empty()) lines.emplace_back("state", recurrence_text(config, graph, facts));
  lines.emplace_back("vocabulary", fmt::format("{}", graph.vocab));
  lines.emplace_back("context", fmt::format("{}", config.context));
  if (facts.n_attention > 0)
    lines.emplace_back("cache", fmt::format("{} values a token", cache_elements_a_token(graph)));
  lines.emplace_back("gives", result_text(config, graph, facts));
  return lines;
}

}  // namespace puna::models
