// The heart of BPE: of all neighbours that may be merged, merge the best (the leftmost of equals),
// until none may.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/check.h"

namespace puna::tokenizer {

// A part of the word, and the token that it is (-1 while unknown).
struct Symbol {
  uint32_t begin, end;  // bytes of the word
  int32_t id;
};

// What two neighbours would become. Lower priorities come first.
struct Candidate {
  static constexpr uint32_t kNever = 0xFFFFFFFF;
  uint32_t priority = kNever;
  int32_t id = -1;
};

// Merges `symbols` in place. candidate(left, right) tells what two neighbours become.
template <class Find>
class Merger {
 public:
  Merger(std::vector<Symbol>& symbols, Find candidate)
      : symbols_(symbols), candidate_(std::move(candidate)) {}

  void run() {
    if (symbols_.size() <= kScanLimit) {
      scan();
    } else {
      queue();
    }
  }

 private:
  // Up to here looking at every pair again is quicker than keeping a queue.
  static constexpr size_t kScanLimit = 48;

  void scan() {
    size_t n = symbols_.size();
    if (n < 2) return;
    Candidate pairs[kScanLimit];  // pairs[i]: symbols i and i + 1
    for (size_t i = 0; i + 1 < n; ++i) pairs[i] = candidate_(symbols_[i], symbols_[i + 1]);
    while (n > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < n; ++i) {
        if (pairs[i].priority < pairs[best].priority) best = i;
      }
      if (pairs[best].priority == Candidate::kNever) break;
      symbols_[best] = {symbols_[best].begin, symbols_[best + 1].end, pairs[best].id};
      for (size_t i = best + 1; i + 1 < n; ++i) {
        symbols_[i] = symbols_[i + 1];
        pairs[i - 1] = pairs[i];
      }
      --n;
      if (best > 0) pairs[best - 1] = candidate_(symbols_[best - 1], symbols_[best]);
      if (best + 1 < n) pairs[best] = candidate_(symbols_[best], symbols_[best + 1]);
    }
    symbols_.resize(n);
  }

  struct Entry {
    Candidate found;
    uint32_t left;  // index of the left symbol
    uint32_t end;  // where the right symbol ended; symbols only grow, so another end means that the
                   // pair is gone
    bool operator<(const Entry& other) const {  // std::priority_queue gives the largest first
      return found.priority != other.found.priority ? found.priority > other.found.priority
                                                    : left > other.left;
    }
  };

  static constexpr uint32_t kGone = 0xFFFFFFFF;  // as next: merged away

  // O(n log n), so that a megabyte without a space is no trap.
  void queue() {
    const auto n = static_cast<uint32_t>(symbols_.size());
    PUNA_CHECK(symbols_.size() < kGone);
    std::vector<uint32_t> previous(n), next(n);  // next[i] == n: the last one
    for (uint32_t i = 0; i < n; ++i) {
      previous[i] = i - 1;
      next[i] = i + 1;
    }
    std::priority_queue<Entry> entries;
    const auto consider = [&](uint32_t left) {
      const Symbol& right = symbols_[next[left]];
      const Candidate found = candidate_(symbols_[left], right);
      if (found.priority != Candidate::kNever) entries.push({found, left, right.end});
    };
    for (uint32_t i = 0; i + 1 < n; ++i) consider(i);
    while (!entries.empty()) {
      const Entry entry = entries.top();
      entries.pop();
      const uint32_t left = entry.left;
      if (next[left] >= n || symbols_[next[left]].end != entry.end) continue;
      const uint32_t right = next[left];
      symbols_[left] = {symbols_[left].begin, entry.end, entry.found.id};
      next[left] = next[right];
      next[right] = kGone;
      if (next[left] < n) {
        previous[next[left]] = left;
        consider(left);
      }
      if (left > 0) consider(previous[left]);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i = next[i]) {
      symbols_[kept++] = symbols_[i];
    }
    symbols_.resize(kept);
  }

  std::vector<Symbol>& symbols_;
  Find candidate_;
};

}  // namespace puna::tokenizer
