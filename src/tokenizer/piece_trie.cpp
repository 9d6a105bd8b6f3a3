#include "tokenizer/piece_trie.h"

#include <algorithm>

namespace puna::tokenizer {

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  // Level by level, so that the children of a node stand together.
  struct Range {
    size_t begin, end;  // of the pieces below
    uint32_t node;
  };
  std::vector<Range> level = {{0, pieces.size(), 0}}, next;
  for (size_t depth = 0; !level.empty(); ++depth, level.swap(next), next.clear()) {
    for (Range range : level) {
      if (range.begin < range.end && pieces[range.begin].first.size() == depth)
        nodes_[range.node].id = pieces[range.begin++].second;
      nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
      for (size_t begin = range.begin; begin < range.end;) {
        const char byte = pieces[begin].first[depth];
        size_t end = begin + 1;
        while (end < range.end && pieces[end].first[depth] == byte) ++end;
        const auto node = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({0, -1, 0, static_cast<uint8_t>(byte)});
        ++nodes_[range.node].n_children;
        if (depth == 0) roots_[static_cast<uint8_t>(byte)] = node;
        next.push_back({begin, end, node});
        begin = end;
      }
    }
  }
}

}  // namespace puna::tokenizer
