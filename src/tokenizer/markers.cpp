#include "tokenizer/markers.h"

namespace puna::tokenizer {

void Markers::add(std::string_view bytes, int32_t id) {
  if (bytes.empty()) return;
  const auto new_node = [&](char byte, uint32_t sibling) {
    nodes_.push_back({0, sibling, -1, byte});
    return static_cast<uint32_t>(nodes_.size() - 1);
  };
  uint32_t& root = roots_[static_cast<unsigned char>(bytes[0])];
  if (root == 0) root = new_node(bytes[0], 0);
  uint32_t at = root;
  for (const char byte : bytes.substr(1)) {
    uint32_t child = nodes_[at].child;
    while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
    if (child == 0) {
      child = new_node(byte, nodes_[at].child);
      nodes_[at].child = child;
    }
    at = child;
  }
  if (nodes_[at].id < 0) nodes_[at].id = id;
}

Markers::Match Markers::walk(std::string_view text, size_t at) const {
  Match best;
  uint32_t node = roots_[static_cast<unsigned char>(text[at])];
  for (size_t length = 1;; ++length) {
    if (nodes_[node].id >= 0) best = {nodes_[node].id, length};
    if (at + length == text.size()) return best;
    node = nodes_[node].child;
    while (node != 0 && nodes_[node].byte != text[at + length]) node = nodes_[node].sibling;
    if (node == 0) return best;
  }
}

}  // namespace puna::tokenizer
