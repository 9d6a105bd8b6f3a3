// Markers: tokens that are found in the text before anything else ("<|im_start|>", user-defined
// pieces). The leftmost wins, of those that begin at the same place the longest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace puna::tokenizer {

class Markers {
 public:
  struct Match {
    int32_t id = -1;
    size_t bytes = 0;
  };

  // The first of several markers with the same bytes is the one that is found.
  void add(std::string_view bytes, int32_t id);
  // The longest marker that begins at text[at]; bytes is 0 when there is none.
  Match longest(std::string_view text, size_t at) const {
    return roots_[static_cast<unsigned char>(text[at])] == 0 ? Match{} : walk(text, at);
  }
  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    uint32_t child = 0;    // first of the nodes one byte further, 0: none
    uint32_t sibling = 0;  // next node of the same parent
    int32_t id = -1;       // the marker that ends here
    char byte = 0;
  };
  Match walk(std::string_view text, size_t at) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // nodes_[0] stands for "none"
  std::array<uint32_t, 256> roots_{};               // by first byte
};

}  // namespace puna::tokenizer
