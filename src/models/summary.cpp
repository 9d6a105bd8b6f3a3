#include "models/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace puna::models {
namespace {

// "64", or "32 to 64".
std::string range(const std::set<uint32_t>& values) {
  if (values.empty()) return "none";
  if (values.size() == 1) return std::to_string(*values.begin());
  return fmt::format("{} to {}", *values.begin(), *values.rbegin());
}

// What the attention ops of a graph have in common and where they differ.
struct Attention {
  uint32_t n_layers = 0, n_own_keys = 0, n_windows = 0, n_plain = 0;
  std::set<uint32_t> head_dims, kv_heads, windows;
};

Attention read_attention(const plan::Graph& graph) {
  Attention a;
  for (const plan::Op& op : graph.ops) {
    if (const auto* rope = std::get_if<plan::RopeOp>(&op)) {
      a.n_own_keys += rope->appends;
      a.n_plain += rope->rope.n_rot == 0;
    }
    const auto* attention = std::get_if<plan::AttentionOp>(&op);
    if (!attention) continue;
    ++a.n_layers;
    const plan::KvSpec& kv = graph.kv[attention->layer];
    a.head_dims.insert(kv.head_dim);
    a.kv_heads.insert(kv.n_kv_heads);
    if (attention->window == 0) continue;
    ++a.n_windows;
    a.windows.insert(attention->window);
  }
  return a;
}

std::string attention_text(const Config& config, const plan::Graph& graph, const Attention& a) {
  std::string text = fmt::format("{} heads over {} KV heads of {} elements", graph.n_heads,
                                 range(a.kv_heads), range(a.head_dims));
  if (!config.causal) text += ", every token sees all";
  if (a.n_layers < config.n_layers)
    text += fmt::format(", in {} of {} layers", a.n_layers, config.n_layers);
  if (a.n_windows > 0)
    text += fmt::format(", a window of {} in {} layers", range(a.windows), a.n_windows);
  if (a.n_own_keys > 0 && a.n_own_keys < a.n_layers)
    text += fmt::format(", keys of their own in {} layers", a.n_own_keys);
  return text;
}

std::string positions_text(const Config& config, const Attention& a) {
  if (a.n_plain == a.n_layers) return "not rotary";
  std::string text =
      fmt::format("rotary over {} elements, base {:g}", config.n_rot, config.rope_base);
  if (config.rope_freq_scale != 1.0f) {
    text += fmt::format(", stretched {:g} times{}", 1 / config.rope_freq_scale,
                        config.yarn.original_context > 0 ? " by YaRN" : "");
  }
  if (a.n_plain > 0) text += fmt::format(", none in {} layers", a.n_plain);
  return text;
}

uint64_t cache_elements_a_token(const plan::Graph& graph) {
  uint64_t n = 0;
  for (const plan::KvSpec& kv : graph.kv) n += 2 * uint64_t{kv.n_kv_heads} * kv.head_dim;
  return n;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> summary(const Config& config,
                                                         const plan::Graph& graph) {
  const Attention a = read_attention(graph);
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("architecture", config.architecture);
  lines.emplace_back("layers", fmt::format("{} of {}", config.n_layers, config.hidden));
  if (config.ffn > 0) lines.emplace_back("feed-forward", fmt::format("{}", config.ffn));
  if (a.n_layers > 0) {
    lines.emplace_back("attention", attention_text(config, graph, a));
    lines.emplace_back("positions", positions_text(config, a));
  }
  lines.emplace_back("vocabulary", fmt::format("{}", graph.vocab));
  lines.emplace_back("context", fmt::format("{}", config.context));
  lines.emplace_back("cache", fmt::format("{} values a token", cache_elements_a_token(graph)));
  lines.emplace_back("gives", graph.embeds
                                  ? fmt::format("embeddings of {}, pooling {}", graph.n_out(),
                                                name(pooling_of(config, {})))
                                  : std::string("logits"));
  return lines;
}

}  // namespace puna::models
