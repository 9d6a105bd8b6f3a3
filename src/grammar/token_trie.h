// TokenTrie: texts of tokens as a tree of bytes, to find the tokens that some automaton lets pass
// without asking for each. Read next: vocabulary.h, masks.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace puna::grammar {

// What the counter of a lexeme may be where a token is allowed.
struct CountBounds {
  uint32_t least = 0;
  uint32_t most = 0xFFFFFFFF;
  bool any() const { return least == 0 && most == 0xFFFFFFFF; }
  bool contains(uint32_t count) const { return least <= count && count <= most; }
};

// Bytes in groups, so that a word has a bit for each: which of them a subtree is made of.
constexpr std::array<uint8_t, 256> byte_groups() {
  std::array<uint8_t, 256> out{};
  uint8_t next = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto is = [byte](uint32_t low, uint32_t high) { return low < byte && byte <= high; };
    // In the group of the byte before: control characters, digits, letters, parts of characters.
    const bool joined = is(0x0E, 0x1F) || is(0x00, 0x08) || is('0', '9') || is('A', 'Z') ||
                        is('a', 'z') || is(0x80, 0xBF) || is(0xC0, 0xFF);
    if (byte > 0 && !joined) ++next;
    out[byte] = next;
  }
  return out;
}
constexpr std::array<uint8_t, 256> kByteGroups = byte_groups();
static_assert(kByteGroups[255] < 64);

class TokenTrie {
 public:
  // A byte behind those on the way from the root, which is no node itself.
  struct Node {
    uint32_t end = 0;     // the first node that is not below this one; nodes are depth first
    uint32_t tokens = 0;  // the first of the tokens that end here; those of the next node follow
    uint16_t depth = 0;   // 0: first byte
    uint8_t byte = 0;
  };
  struct Token {
    std::string_view text;  // not empty, at most kMostBytes of it are kept
    uint32_t id = 0;
    CountBounds counts{};
  };
  static constexpr size_t kMostBytes = 0xFFFF;  // longer texts are left out

  TokenTrie() = default;
  explicit TokenTrie(std::vector<Token> tokens);

  bool empty() const { return nodes_.size() <= 1; }
  uint32_t n_nodes() const { return nodes_.empty() ? 0 : static_cast<uint32_t>(nodes_.size() - 1); }
  const Node& node(uint32_t i) const { return nodes_[i]; }
  uint32_t max_depth() const { return max_depth_; }  // bytes of the longest text
  // Tokens that end at a node, as indices into ids.
  uint32_t tokens_begin(uint32_t i) const { return nodes_[i].tokens; }
  uint32_t tokens_end(uint32_t i) const { return nodes_[i + 1].tokens; }
  // Tokens that end at a node or below.
  uint32_t tokens_below_end(uint32_t i) const { return nodes_[nodes_[i].end].tokens; }
  // The groups of the bytes of a node and of all below it, a bit each.
  uint64_t groups(uint32_t i) const { return groups_[i]; }
  uint32_t id(uint32_t token) const { return ids_[token]; }
  // Of all tokens, where any has bounds.
  bool has_counts() const { return !counts_.empty(); }
  const CountBounds& counts(uint32_t token) const { return counts_[token]; }
  size_t size_bytes() const {
    return nodes_.size() * (sizeof(Node) + sizeof(uint64_t)) + ids_.size() * sizeof(uint32_t) +
           counts_.size() * sizeof(CountBounds);
  }

 private:
  std::vector<Node> nodes_;       // and one more, behind the last
  std::vector<uint64_t> groups_;  // of nodes
  std::vector<uint32_t> ids_;
  std::vector<CountBounds> counts_;
  uint32_t max_depth_ = 0;
};

}  // namespace puna::grammar
