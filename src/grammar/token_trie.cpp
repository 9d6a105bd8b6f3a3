#include "grammar/token_trie.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace puna::grammar {

namespace {

// The first eight bytes as a number that is ordered as they are; fewer are filled up with zeros.
uint64_t front(std::string_view text) {
  uint64_t out = 0;
  const size_t n = std::min<size_t>(text.size(), 8);
  for (size_t i = 0; i < n; ++i) out |= uint64_t{static_cast<uint8_t>(text[i])} << (56 - 8 * i);
  return out;
}

}  // namespace

TokenTrie::TokenTrie(std::vector<Token> tokens) {
  std::erase_if(tokens, [](const Token& token) {
    return token.text.empty() || token.text.size() > kMostBytes;
  });
  struct Key {
    uint64_t front;
    uint32_t token;
  };
  std::vector<Key> order(tokens.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = {grammar::front(tokens[i].text), i};
  std::ranges::sort(order, [&](const Key& a, const Key& b) {
    if (a.front != b.front) return a.front < b.front;
    const int by = tokens[a.token].text.compare(tokens[b.token].text);
    return by != 0 ? by < 0 : tokens[a.token].id < tokens[b.token].id;
  });
  const bool has_counts =
      std::ranges::any_of(tokens, [](const Token& token) { return !token.counts.any(); });
  ids_.reserve(tokens.size());
  std::vector<uint32_t> path;  // nodes from the root to the last text's end
  std::string_view last;
  for (const Key& key : order) {
    const Token& token = tokens[key.token];
    const auto differs = std::ranges::mismatch(last, token.text).in1;
    const auto shared = static_cast<size_t>(differs - last.begin());
    while (path.size() > shared) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
    for (size_t i = shared; i < token.text.size(); ++i) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<uint32_t>(ids_.size()), static_cast<uint16_t>(i),
                        static_cast<uint8_t>(token.text[i])});
    }
    ids_.push_back(token.id);
    if (has_counts) counts_.push_back(token.counts);
    common_counts_.least = std::max(common_counts_.least, token.counts.least);
    common_counts_.most = std::min(common_counts_.most, token.counts.most);
    max_depth_ = std::max(max_depth_, static_cast<uint32_t>(token.text.size()));
    last = token.text;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({0, static_cast<uint32_t>(ids_.size()), 0, 0, false});
  find_groups();
}

void TokenTrie::find_groups() {
  struct Place {
    uint8_t low = 0, high = 0;  // of the next byte
    uint8_t n_left = 0;         // of the bytes of a character
    uint16_t n_begun = 0;
  };
  std::vector<Place> path(max_depth_ + 1);  // behind each byte
  characters_.resize(ids_.size());
  groups_.resize(n_nodes());
  for (uint32_t i = 0; i < n_nodes(); ++i) {
    Node& node = nodes_[i];
    Place at = path[node.depth];
    uint64_t groups = kCharacters;
    if (at.n_left > 0 && at.low <= node.byte && node.byte <= at.high) {
      at = {0x80, 0xBF, static_cast<uint8_t>(at.n_left - 1), at.n_begun};
    } else {
      node.begins = true;
      const bool is_cut = at.n_left > 0;  // what was before is no character then
      const auto lead = std::ranges::find_if(kUtf8Leads, [&](const Utf8Lead& of) {
        return of.first <= node.byte && node.byte <= of.last;
      });
      const auto n_begun = static_cast<uint16_t>(at.n_begun + 1);
      at = {0, 0, 0, n_begun};
      if (lead != kUtf8Leads.end()) {
        at = {lead->low, lead->high, lead->n_following, n_begun};
      } else {
        groups = node.byte < 128 ? uint64_t{1} << kAsciiGroups[node.byte] : kBroken;
      }
      if (is_cut) groups |= kBroken;
    }
    path[node.depth + 1] = at;
    groups_[i] = groups;
    for (uint32_t token = tokens_begin(i); token < tokens_end(i); ++token)
      characters_[token] = at.n_begun;
  }
  for (uint32_t i = n_nodes(); i-- > 0;) {
    for (uint32_t child = i + 1; child < nodes_[i].end; child = nodes_[child].end)
      groups_[i] |= groups_[child];
  }
}

}  // namespace puna::grammar
