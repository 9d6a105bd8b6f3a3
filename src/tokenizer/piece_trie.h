// A trie over the pieces that text is made of: every piece that begins at a place, in one walk.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace puna::tokenizer {

class PieceTrie {
 public:
  // Pieces with their ids, each at most once; none is empty.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces = {});

  // Calls found(bytes, id) for each piece that text[at...] begins with, shortest first.
  template <class Found>
  void walk(std::string_view text, size_t at, Found&& found) const {
    uint32_t node = roots_[static_cast<unsigned char>(text[at])];
    for (size_t length = 1; node != 0; ++length) {
      if (nodes_[node].id >= 0) found(length, nodes_[node].id);
      if (at + length == text.size()) return;
      node = child(nodes_[node], static_cast<unsigned char>(text[at + length]));
    }
  }

 private:
  struct Node {
    uint32_t first_child = 0;  // children stand together, sorted by byte
    int32_t id = -1;           // the piece that ends here
    uint16_t n_children = 0;
    uint8_t byte = 0;
  };
  uint32_t child(const Node& parent, uint8_t byte) const {
    uint32_t low = parent.first_child, high = low + parent.n_children;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (nodes_[middle].byte < byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < parent.first_child + parent.n_children && nodes_[low].byte == byte ? low : 0;
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // nodes_[0] is the root
  std::array<uint32_t, 256> roots_{};               // its children, by byte
};

}  // namespace puna::tokenizer
