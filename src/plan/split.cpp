#include "plan/split.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/check.h"

namespace puna::plan {
namespace {

// The layer of the cache that an op uses.
std::optional<uint32_t> cache_of(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::optional<uint32_t> {
        if constexpr (requires { o.layer; }) return o.layer;
        return std::nullopt;
      },
      op);
}

std::optional<StateId> state_of(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::optional<StateId> {
        if constexpr (requires { o.state; }) return o.state;
        return std::nullopt;
      },
      op);
}

// What the ops of one part use.
struct Uses {
  std::vector<bool> weights, cache, states, read, written;

  Uses(const Graph& graph, size_t begin, size_t end)
      : weights(graph.weights.size()),
        cache(graph.kv.size()),
        states(graph.states.size()),
        read(graph.values.size()),
        written(graph.values.size()) {
    for (size_t i = begin; i < end; ++i) {
      const Op& op = graph.ops[i];
      for (WeightId w : plan::weights(op)) weights[w] = true;
      if (const auto layer = cache_of(op)) cache[*layer] = true;
      if (const auto state = state_of(op)) states[*state] = true;
      for (ValueId v : reads(op)) read[v] = true;
      for (ValueId v : writes(op)) written[v] = true;
    }
  }
};

bool overlap(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i]) return true;
  }
  return false;
}

// The first op of a layer.
std::optional<size_t> begin_of(const Graph& graph, uint32_t layer) {
  for (size_t i = 0; i < graph.head_begin; ++i) {
    if (layer_of(graph.ops[i]) == layer) return i;
  }
  return std::nullopt;
}

bool can_cut(const Graph& graph, uint32_t layer) {
  const std::optional<size_t> at = begin_of(graph, layer);
  if (!at) return false;
  for (size_t i = *at; i < graph.ops.size(); ++i) {
    if (layer_of(graph.ops[i]).value_or(layer) < layer) return false;
  }
  const Uses first(graph, 0, *at), rest(graph, *at, graph.ops.size());
  return !overlap(first.cache, rest.cache) && !overlap(first.states, rest.states);
}

// A graph of some of the ops, that has only what they use.
Graph part(const Graph& graph, size_t begin, size_t end) {
  Graph out = graph;
  out.ops.assign(graph.ops.begin() + static_cast<ptrdiff_t>(begin),
                 graph.ops.begin() + static_cast<ptrdiff_t>(end));
  drop_unused(out);
  return out;
}

}  // namespace

std::optional<uint32_t> layer_of(const Op& op) {
  constexpr std::string_view kPrefix = "blk.";
  const std::string text = label(op);
  if (!text.starts_with(kPrefix)) return std::nullopt;
  uint32_t layer = 0;
  const char* begin = text.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), layer);
  if (error != std::errc() || end == begin) return std::nullopt;
  return layer;
}

uint32_t n_layers(const Graph& graph) {
  uint32_t n = 0;
  for (const Op& op : graph.ops) {
    if (const auto layer = layer_of(op)) n = std::max(n, *layer + 1);
  }
  return n;
}

std::vector<uint32_t> cuts(const Graph& graph) {
  std::vector<uint32_t> out;
  for (uint32_t layer = 1; layer < n_layers(graph); ++layer) {
    if (can_cut(graph, layer)) out.push_back(layer);
  }
  return out;
}

void drop_unused(Graph& graph) {
  const Uses uses(graph, 0, graph.ops.size());
  for (size_t i = 0; i < graph.weights.size(); ++i) {
    if (!uses.weights[i]) graph.weights[i].rows = 0;
  }
  for (size_t i = 0; i < graph.kv.size(); ++i) {
    if (!uses.cache[i]) graph.kv[i] = {};
  }
  for (size_t i = 0; i < graph.states.size(); ++i) {
    if (!uses.states[i]) graph.states[i].n = 0;
  }
}

Split split(const Graph& graph, uint32_t layer) {
  PUNA_CHECK(can_cut(graph, layer));
  const size_t at = *begin_of(graph, layer);
  Split out{part(graph, 0, at), part(graph, at, graph.ops.size())};
  const Uses first(graph, 0, at), rest(graph, at, graph.ops.size());
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    // What was taken over goes on to where it is read.
    const bool is_there =
        first.written[v] || std::ranges::find(graph.takes_over, v) != graph.takes_over.end();
    if (is_there && rest.read[v]) out.first.hands_over.push_back(v);
  }
  PUNA_CHECK(!out.first.hands_over.empty());
  out.first.head_begin = at;
  out.first.hidden = out.first.logits = out.first.hands_over.front();
  out.rest.takes_over = out.first.hands_over;
  out.rest.head_begin = graph.head_begin - at;
  return out;
}

}  // namespace puna::plan
