// Prefixes: what the cache holds of texts, running and ended, as a tree. A node is a page of the
// cache and the tokens whose keys and values it has; the path to it spells the beginning of a text,
// and texts with one beginning share its pages. What no running text needs stays until its page is
// wanted: the one that was used longest ago goes first, of a text the end, and before all others
// those of texts that nobody came back to for many texts. The idea is RadixAttention's (Zheng et
// al. 2024); nodes are pages here, so there is nothing to split.
//
// A recurrent state cannot be taken back to an earlier position. Models that have some go on only
// behind nodes that keep a copy of it, in one of n_states slots. Where layers with windows have
// pages of their own (window_slots.h), a text goes on only behind nodes whose last window has all
// of its pages there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/kv_pool.h"

namespace puna::engine {

class Prefixes {
 public:
  using NodeId = uint32_t;
  static constexpr NodeId kRoot = 0;  // of no tokens and no page

  struct Options {
    bool recurrent = false;
    uint32_t window = 0;      // tokens; of layers whose pages are apart
    uint32_t n_states = 0;    // slots for copies of recurrent states
    uint64_t host_bytes = 0;  // that pages may take in host memory after they have left the device
    uint32_t patience = UINT32_MAX;  // texts after whose end one is stale
  };
  Prefixes(KvPool& pool, Options options);  // which outlives it

  // What is known of a text's beginning.
  struct Found {
    NodeId node = kRoot;    // the last whole page of it, behind which a sequence can go on
    uint32_t n_tokens = 0;  // up to the end of that
    NodeId part = kRoot;    // a page behind it of which the first tokens go on; kRoot: none
    uint32_t n_part = 0;    // how many do
    uint32_t n_alike = 0;   // tokens that are in pages, a state or not: a state there would pay
    uint32_t total() const { return n_tokens + n_part; }
  };
  Found find(std::span<const int32_t> text) const;

  // Adds the tokens of a page, 1 to kernels::kPageTokens, behind a node whose page is whole, and
  // becomes one more owner of the page. Where these tokens are known already, gives the node that
  // has them, with its own page; without recurrent states it may have more behind them. A page
  // that is the beginning of this one goes.
  NodeId add(NodeId parent, std::span<const int32_t> tokens, uint32_t page);

  std::span<const int32_t> tokens(NodeId node) const { return nodes_[node].tokens; }
  NodeId parent(NodeId node) const { return nodes_[node].parent; }
  // None while the page is in host memory.
  std::optional<uint32_t> page(NodeId node) const { return nodes_[node].page; }
  // Whether it has what layers with windows need, on the device or in host memory.
  bool has_window(NodeId node) const;
  // From the root, without it.
  std::vector<NodeId> path(NodeId node) const;
  // The nodes that nothing follows: the ends of texts.
  std::vector<NodeId> ends() const;

  // A pinned node stays, and with it the path to it, if the pages of that are on the device.
  void pin(NodeId node);
  void unpin(NodeId node);
  // A text begins with the path to it.
  void come_back_to(NodeId node);
  // A text has ended, with the path to it.
  void end_text(NodeId node);

  // Slots for copies of states, used or not.
  uint32_t n_states() const { return static_cast<uint32_t>(state_owner_.size()); }
  // The slot of the state after a node's tokens; none where there is none.
  std::optional<uint32_t> state(NodeId node) const { return nodes_[node].state; }
  // A slot for one, to be written by the caller: a free one, or that of the node that was used
  // longest ago (of one text the one nearest to its start), which loses it. None when there are no
  // slots.
  std::optional<uint32_t> keep_state(NodeId node);

  // The end of a text that so many have ended after that nobody is expected to come back to it any
  // more, as nobody has so far: worth neither a copy nor memory that was not in use before.
  std::optional<NodeId> stale() const;
  // The node whose page has to go next; none when running texts need all.
  std::optional<NodeId> oldest() const;
  // Its page leaves the device. With bytes of it (as many as all pages have) the node stays, in
  // host memory, for as long as it fits; without, it and all behind it are forgotten.
  void leave(NodeId node, std::vector<std::byte> bytes = {});
  // Whether a copy of its page pays: a text has begun with it before, or texts of late have begun
  // where others ended that nobody had come back to yet.
  bool keeps_bytes(NodeId node) const;
  // Takes over a page that the caller owns for a node in host memory; gives what to write to it.
  std::vector<std::byte> come_back(NodeId node, uint32_t page);
  // Forgets a node and all behind it, none of which is pinned.
  void forget(NodeId node);
  // Forgets the end of a text, page by page, as long as nothing goes on behind it and no running
  // text needs it. What is before token `first` stays, with recurrent states or
  // in host memory all of the page that it is in.
  void forget_end(std::span<const int32_t> text, uint32_t first);

  uint32_t n_nodes() const { return static_cast<uint32_t>(nodes_.size() - unused_.size()) - 1; }
  uint64_t host_bytes() const { return host_bytes_; }

 private:
  struct Node {
    NodeId parent = kRoot;
    std::vector<int32_t> tokens;
    std::optional<uint32_t> page;
    std::vector<std::byte> bytes;  // of a page that has left the device
    bool keeps_window = false;     // what layers with windows have is among the bytes
    std::optional<uint32_t> state;
    uint32_t n_pins = 0;
    uint32_t n_resident = 0;  // children with a page
    uint64_t used = 0;
    uint64_t n_ended_before = 0;   // texts, when it was used
    bool came_back = false;        // a text has begun with it
    uint32_t depth = 0;            // pages from the root
    std::vector<NodeId> children;  // by their tokens
    bool whole() const;
  };
  using ByAge = std::set<std::pair<uint64_t, NodeId>>;

  // The path to it was used now. True: some of it is come back to for the first time.
  bool touch(NodeId node, bool came_back);
  // Changes a node; the lists by age follow.
  template <class F>
  void change(NodeId id, F&& f);
  // Where tokens are among a node's children, or would be.
  std::vector<NodeId>::const_iterator place(NodeId parent, std::span<const int32_t> tokens) const;
  // The child that begins with the most of these tokens, and how many.
  std::pair<NodeId, uint32_t> closest(NodeId parent, std::span<const int32_t> tokens) const;
  // Whether a text can go on after n_tokens, the last n_run whole pages of which have what layers
  // with windows need.
  bool sees_window(uint32_t n_tokens, uint32_t n_run) const;
  // Of a page that begins with token `begin` of a text and that nobody needs, only what is before
  // token `first` stays. Whether nothing does, so that the page is gone.
  bool keep_first(NodeId id, size_t begin, size_t first);
  NodeId new_node();
  void drop_state(NodeId id);

  KvPool& pool_;
  Options options_;
  std::vector<Node> nodes_;
  std::vector<NodeId> unused_;
  ByAge may_leave_;                  // with a page, nothing on the device behind it, not pinned
  ByAge may_go_;                     // in host memory, nothing behind it, not pinned
  ByAge once_;                       // nothing behind it, not pinned, nobody came back to it
  std::vector<NodeId> state_owner_;  // by slot; kRoot: free
  uint64_t host_bytes_ = 0;
  uint64_t clock_ = 0;
  uint64_t n_ended_ = 0;  // texts
  // Share of the texts that go on with what nobody had come back to, the last ones counting most.
  double comes_back_ = 0.25;
};

}  // namespace puna::engine
