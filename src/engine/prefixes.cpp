#include "engine/prefixes.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/common/step.h"

namespace puna::engine {
namespace {

uint32_t n_common(std::span<const int32_t> a, std::span<const int32_t> b) {
  const auto ends = std::ranges::mismatch(a, b);
  return static_cast<uint32_t>(ends.in1 - a.begin());
}

// Weight of the newest text in comes_back_, and from when on copies pay whose texts may never be
// come back to: a copy costs about a tenth of what it spares, and holds the steps up meanwhile.
constexpr double kNewest = 1.0 / 32, kPays = 1.0 / 16;

bool is_beginning(std::span<const int32_t> start, std::span<const int32_t> of) {
  return start.size() <= of.size() && n_common(start, of) == start.size();
}

}  // namespace

bool Prefixes::Node::whole() const { return tokens.size() == kernels::kPageTokens; }

Prefixes::Prefixes(KvPool& pool, Options options)
    : pool_(pool), options_(options), nodes_(1), state_owner_(options.n_states, kRoot) {}

template <class F>
void Prefixes::change(NodeId id, F&& f) {
  if (id == kRoot) {
    f(nodes_[id]);
    return;
  }
  may_leave_.erase({nodes_[id].used, id});
  may_go_.erase({nodes_[id].used, id});
  once_.erase({nodes_[id].used, id});
  f(nodes_[id]);
  const Node& node = nodes_[id];
  if (node.n_pins > 0) return;
  if (node.page && node.n_resident == 0) may_leave_.insert({node.used, id});
  if (!node.bytes.empty() && node.children.empty()) may_go_.insert({node.used, id});
  const bool forgotten = node.tokens.empty();
  if (!forgotten && !node.came_back && node.children.empty()) once_.insert({node.used, id});
}

std::vector<Prefixes::NodeId>::const_iterator Prefixes::place(
    NodeId parent, std::span<const int32_t> tokens) const {
  return std::ranges::lower_bound(
      nodes_[parent].children, tokens,
      [](std::span<const int32_t> a, std::span<const int32_t> b) {
        return std::ranges::lexicographical_compare(a, b);
      },
      [this](NodeId id) { return this->tokens(id); });
}

std::pair<Prefixes::NodeId, uint32_t> Prefixes::closest(NodeId parent,
                                                        std::span<const int32_t> tokens) const {
  // In the order of the children, what shares most with the tokens is beside their place.
  const auto after = place(parent, tokens);
  std::pair<NodeId, uint32_t> best = {kRoot, 0};
  const auto look = [&](NodeId id) {
    const uint32_t n = n_common(this->tokens(id), tokens);
    if (n > best.second) best = {id, n};
  };
  if (after != nodes_[parent].children.end()) look(*after);
  if (after != nodes_[parent].children.begin()) look(*(after - 1));
  return best;
}

Prefixes::Found Prefixes::find(std::span<const int32_t> text) const {
  Found found;
  NodeId node = kRoot;
  uint32_t n = 0, n_run = 0;
  for (;;) {
    const auto rest = text.subspan(n);
    if (options_.recurrent) {
      // Pages of fewer tokens with a state at their end; several may begin like the text.
      for (size_t k = std::min<size_t>(rest.size(), kernels::kPageTokens - 1); k > 0; --k) {
        const auto at = place(node, rest.first(k));
        if (at == nodes_[node].children.end() || tokens(*at).size() != k ||
            !is_beginning(tokens(*at), rest) || !nodes_[*at].state || !has_window(*at) ||
            !sees_window(n + static_cast<uint32_t>(k), n_run)) {
          continue;
        }
        found.node = node;
        found.n_tokens = n;
        found.part = *at;
        found.n_part = static_cast<uint32_t>(k);
        break;
      }
    }
    const auto [child, n_same] = closest(node, rest);
    found.n_alike = n + n_same;
    if (n_same < kernels::kPageTokens) {
      if (options_.recurrent || n_same == 0) return found;
      if (has_window(child) && sees_window(n + n_same, n_run))
        found = {node, n, child, n_same, found.n_alike};
      return found;
    }
    node = child;
    n += n_same;
    n_run = has_window(node) ? n_run + 1 : 0;
    if ((!options_.recurrent || nodes_[node].state) && sees_window(n, n_run))
      found = {node, n, kRoot, 0, n};
  }
}

bool Prefixes::has_window(NodeId node) const {
  const Node& n = nodes_[node];
  return n.page ? pool_.windows().has(*n.page) : n.keeps_window;
}

bool Prefixes::sees_window(uint32_t n_tokens, uint32_t n_run) const {
  if (!pool_.windows().apart()) return true;
  return n_tokens / kernels::kPageTokens <= n_run + first_page_seen(n_tokens, options_.window);
}

Prefixes::NodeId Prefixes::new_node() {
  if (unused_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = unused_.back();
  unused_.pop_back();
  return id;
}

Prefixes::NodeId Prefixes::add(NodeId parent, std::span<const int32_t> tokens, uint32_t page) {
  PUNA_CHECK(parent == kRoot || nodes_[parent].whole());
  PUNA_CHECK(!tokens.empty() && tokens.size() <= kernels::kPageTokens);
  auto at = place(parent, tokens);
  if (at != nodes_[parent].children.end() && is_beginning(tokens, this->tokens(*at))) {
    // A state is of one number of tokens, keys and values of any.
    if (!options_.recurrent || this->tokens(*at).size() == tokens.size()) return *at;
  }
  // The beginning of these tokens is no text of its own any more.
  if (at != nodes_[parent].children.begin()) {
    const NodeId before = *(at - 1);
    const Node& node = nodes_[before];
    if (is_beginning(node.tokens, tokens) && !node.state && node.n_pins == 0) {
      forget(before);
      at = place(parent, tokens);
    }
  }
  const auto index = at - nodes_[parent].children.begin();
  const NodeId id = new_node();  // may move the nodes
  pool_.share(page);
  change(parent, [&](Node& node) {
    node.children.insert(node.children.begin() + index, id);
    ++node.n_resident;
  });
  change(id, [&](Node& node) {
    node.parent = parent;
    node.tokens.assign(tokens.begin(), tokens.end());
    node.page = page;
    node.used = ++clock_;
    node.n_ended_before = n_ended_;
    node.depth = nodes_[parent].depth + 1;
  });
  return id;
}

std::vector<Prefixes::NodeId> Prefixes::path(NodeId node) const {
  std::vector<NodeId> out;
  for (; node != kRoot; node = nodes_[node].parent) out.push_back(node);
  std::ranges::reverse(out);
  return out;
}

std::vector<Prefixes::NodeId> Prefixes::ends() const {
  std::vector<NodeId> out;
  for (NodeId id = 1; id < nodes_.size(); ++id) {
    if (!nodes_[id].tokens.empty() && nodes_[id].children.empty()) out.push_back(id);
  }
  return out;
}

void Prefixes::pin(NodeId node) {
  if (node == kRoot) return;
  change(node, [](Node& n) { ++n.n_pins; });
}

void Prefixes::unpin(NodeId node) {
  if (node == kRoot) return;
  PUNA_CHECK(nodes_[node].n_pins > 0);
  change(node, [](Node& n) { --n.n_pins; });
}

bool Prefixes::touch(NodeId node, bool came_back) {
  ++clock_;
  bool first = false;
  for (; node != kRoot; node = nodes_[node].parent) {
    change(node, [&](Node& n) {
      n.used = clock_;
      n.n_ended_before = n_ended_;
      first |= came_back && !n.came_back;
      n.came_back |= came_back;
    });
  }
  return first;
}

void Prefixes::come_back_to(NodeId node) {
  const bool first = touch(node, /*came_back=*/true);
  comes_back_ += kNewest * ((first ? 1 : 0) - comes_back_);
}

bool Prefixes::keeps_bytes(NodeId node) const {
  return options_.host_bytes > 0 && (nodes_[node].came_back || comes_back_ >= kPays);
}

void Prefixes::end_text(NodeId node) {
  ++n_ended_;
  touch(node, /*came_back=*/false);
}

std::optional<uint32_t> Prefixes::keep_state(NodeId node) {
  if (state_owner_.empty() || node == kRoot) return {};
  if (nodes_[node].state) return nodes_[node].state;
  // The root is never used, so free slots come first.
  const auto slot = std::ranges::min_element(state_owner_, {}, [this](NodeId owner) {
    return std::pair(nodes_[owner].used, nodes_[owner].depth);
  });
  const NodeId owner = *slot;
  if (owner != kRoot) {
    drop_state(owner);
    // A page that is not whole is of no use without its state.
    if (options_.recurrent && !nodes_[owner].whole() && nodes_[owner].n_pins == 0) forget(owner);
  }
  *slot = node;
  nodes_[node].state = static_cast<uint32_t>(slot - state_owner_.begin());
  return nodes_[node].state;
}

void Prefixes::drop_state(NodeId id) {
  Node& node = nodes_[id];
  if (!node.state) return;
  state_owner_[*node.state] = kRoot;
  node.state.reset();
}

std::optional<Prefixes::NodeId> Prefixes::stale() const {
  if (once_.empty()) return {};
  const NodeId id = once_.begin()->second;
  if (n_ended_ - nodes_[id].n_ended_before < options_.patience) return {};
  return id;
}

std::optional<Prefixes::NodeId> Prefixes::oldest() const {
  if (may_leave_.empty()) return {};
  return may_leave_.begin()->second;
}

void Prefixes::leave(NodeId id, std::vector<std::byte> bytes) {
  PUNA_CHECK(nodes_[id].page && nodes_[id].n_pins == 0 && nodes_[id].n_resident == 0);
  while (host_bytes_ + bytes.size() > options_.host_bytes && !may_go_.empty())
    forget(may_go_.begin()->second);
  if (bytes.empty() || host_bytes_ + bytes.size() > options_.host_bytes) return forget(id);
  host_bytes_ += bytes.size();
  const bool keeps_window = has_window(id);
  pool_.release(*nodes_[id].page);
  change(id, [&](Node& node) {
    node.page.reset();
    node.bytes = std::move(bytes);
    node.keeps_window = keeps_window;
  });
  change(nodes_[id].parent, [](Node& node) { --node.n_resident; });
}

std::vector<std::byte> Prefixes::come_back(NodeId id, uint32_t page) {
  PUNA_CHECK(!nodes_[id].page);
  std::vector<std::byte> bytes;
  change(id, [&](Node& node) {
    bytes = std::move(node.bytes);
    node.bytes.clear();
    node.page = page;
  });
  host_bytes_ -= bytes.size();
  change(nodes_[id].parent, [](Node& node) { ++node.n_resident; });
  return bytes;
}

void Prefixes::forget(NodeId id) {
  PUNA_CHECK(id != kRoot && nodes_[id].n_pins == 0);
  while (!nodes_[id].children.empty()) forget(nodes_[id].children.back());
  drop_state(id);
  const NodeId parent = nodes_[id].parent;
  const bool resident = nodes_[id].page.has_value();
  if (resident) pool_.release(*nodes_[id].page);
  host_bytes_ -= nodes_[id].bytes.size();
  change(id, [](Node& node) { node = {}; });
  change(parent, [&](Node& node) {
    std::erase(node.children, id);
    if (resident) --node.n_resident;
  });
  unused_.push_back(id);
}

void Prefixes::forget_end(std::span<const int32_t> text, uint32_t first) {
  std::vector<NodeId> way;
  for (NodeId node = kRoot; node != kRoot || way.empty();) {
    // With recurrent states several pages that are not whole may lie beside the next one.
    const auto rest = text.subspan(way.size() * kernels::kPageTokens);
    NodeId next = kRoot;
    std::vector<NodeId> parts;
    for (const NodeId child : nodes_[node].children) {
      if (!is_beginning(tokens(child), rest)) continue;
      if (nodes_[child].whole()) {
        next = child;
      } else {
        parts.push_back(child);
      }
    }
    for (const NodeId part : parts) keep_first(part, way.size() * kernels::kPageTokens, first);
    if (next == kRoot) break;
    way.push_back(node = next);
  }
  while (!way.empty() && keep_first(way.back(), (way.size() - 1) * kernels::kPageTokens, first)) {
    way.pop_back();
  }
}

bool Prefixes::keep_first(NodeId id, size_t begin, size_t first) {
  const Node& node = nodes_[id];
  if (node.n_pins > 0 || !node.children.empty() || begin + node.tokens.size() <= first)
    return false;
  if (begin >= first) {
    forget(id);
    return true;
  }
  // A state is of all tokens of its page; bytes in host memory are no page that could be added.
  if (options_.recurrent || !node.page) return false;
  const NodeId parent = node.parent;
  const size_t n_tokens = first - begin;
  const uint32_t page = *node.page;
  const std::vector<int32_t> kept(node.tokens.begin(),
                                  node.tokens.begin() + static_cast<ptrdiff_t>(n_tokens));
  pool_.share(page);
  forget(id);
  add(parent, kept, page);
  pool_.release(page);
  return false;
}

}  // namespace puna::engine
