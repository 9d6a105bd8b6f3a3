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

// Bytes in groups, so that a word has a bit for each: which of them a subtree is made of. Control
// characters, digits and letters are a group each, other bytes of ASCII one for themselves.
constexpr std::array<uint8_t, 128> ascii_groups() {
  std::array<uint8_t, 128> out{};
  uint8_t next = 0;
  for (uint32_t byte = 0; byte < 128; ++byte) {
    const auto is = [byte](uint32_t low, uint32_t high) { return low < byte && byte <= high; };
    const bool joined =
        is(0x0E, 0x1F) || is(0x00, 0x08) || is('0', '9') || is('A', 'Z') || is('a', 'z');
    if (byte > 0 && !joined) ++next;
    out[byte] = next;
  }
  return out;
}
constexpr std::array<uint8_t, 128> kAsciiGroups = ascii_groups();
static_assert(kAsciiGroups[127] < 62);
constexpr uint64_t kAscii = (uint64_t{2} << kAsciiGroups[127]) - 1;
constexpr uint64_t kCharacters = kAscii + 1;   // bytes of other characters
constexpr uint64_t kBroken = kCharacters * 2;  // bytes that are part of none

// First bytes of characters that are no ASCII, with what may come second, and how many follow. The
// third and fourth are 0x80 to 0xBF. Source: The Unicode Standard, table 3-7.
struct Utf8Lead {
  uint8_t first, last;
  uint8_t low, high;
  uint8_t n_following;
};
constexpr std::array<Utf8Lead, 8> kUtf8Leads = {{{0xC2, 0xDF, 0x80, 0xBF, 1},
                                                 {0xE0, 0xE0, 0xA0, 0xBF, 2},
                                                 {0xE1, 0xEC, 0x80, 0xBF, 2},
                                                 {0xED, 0xED, 0x80, 0x9F, 2},
                                                 {0xEE, 0xEF, 0x80, 0xBF, 2},
                                                 {0xF0, 0xF0, 0x90, 0xBF, 3},
                                                 {0xF1, 0xF3, 0x80, 0xBF, 3},
                                                 {0xF4, 0xF4, 0x80, 0x8F, 3}}};

class TokenTrie {
 public:
  // A byte behind those on the way from the root, which is no node itself.
  struct Node {
    uint32_t end = 0;     // the first node that is not below this one; nodes are depth first
    uint32_t tokens = 0;  // the first of the tokens that end here; those of the next node follow
    uint16_t depth = 0;   // 0: first byte
    uint8_t byte = 0;
    bool begins = false;  // a character, or is no part of one
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
  // The groups of the bytes of a node and of all below it, a bit each. Characters begin where the
  // token does; the last one may lack its end.
  uint64_t groups(uint32_t i) const { return groups_[i]; }
  uint32_t id(uint32_t token) const { return ids_[token]; }
  // Bytes of its text that begin something; see Node.
  uint32_t characters(uint32_t token) const { return characters_[token]; }
  // Of all tokens, where any has bounds.
  bool has_counts() const { return !counts_.empty(); }
  const CountBounds& counts(uint32_t token) const { return counts_[token]; }
  // The counts that are within the bounds of all tokens.
  const CountBounds& common_counts() const { return common_counts_; }
  size_t size_bytes() const {
    return nodes_.size() * (sizeof(Node) + sizeof(uint64_t)) +
           ids_.size() * (sizeof(uint32_t) + sizeof(uint16_t)) +
           counts_.size() * sizeof(CountBounds);
  }

 private:
  void find_groups();

  std::vector<Node> nodes_;       // and one more, behind the last
  std::vector<uint64_t> groups_;  // of nodes
  std::vector<uint32_t> ids_;
  std::vector<uint16_t> characters_;  // by token, as ids_
  std::vector<CountBounds> counts_;
  CountBounds common_counts_;
  uint32_t max_depth_ = 0;
};

}  // namespace puna::grammar
