#include "engine/snapshots.h"

#include "base/check.h"

namespace puna::engine {

Snapshots::Snapshots(uint32_t n_sequences, uint32_t n_each) : sequences_(n_sequences) {
  PUNA_CHECK(n_each >= 2);
  for (uint32_t s = 0; s < n_sequences; ++s) {
    for (uint32_t i = n_each; i > 0; --i) sequences_[s].free.push_back(s * n_each + i - 1);
  }
}

uint32_t Snapshots::add(uint32_t sequence, uint32_t position) {
  Sequence& s = sequences_[sequence];
  if (!s.kept.empty() && s.kept.back().position == position) return s.kept.back().slot;
  PUNA_CHECK(s.kept.empty() || s.kept.back().position < position);
  if (s.free.empty()) {
    const auto gap = [&](size_t i) {
      return s.kept[i].position - (i > 0 ? s.kept[i - 1].position : 0);
    };
    size_t closest = 0;
    for (size_t i = 1; i + 1 < s.kept.size(); ++i) {
      if (gap(i) < gap(closest)) closest = i;
    }
    s.free.push_back(s.kept[closest].slot);
    s.kept.erase(s.kept.begin() + static_cast<ptrdiff_t>(closest));
  }
  s.kept.push_back({position, s.free.back()});
  s.free.pop_back();
  return s.kept.back().slot;
}

std::optional<Snapshots::Snapshot> Snapshots::rewind(uint32_t sequence, uint32_t position) {
  Sequence& s = sequences_[sequence];
  while (!s.kept.empty() && s.kept.back().position > position) {
    s.free.push_back(s.kept.back().slot);
    s.kept.pop_back();
  }
  return newest(sequence);
}

std::optional<Snapshots::Snapshot> Snapshots::newest(uint32_t sequence) const {
  const Sequence& s = sequences_[sequence];
  if (s.kept.empty()) return std::nullopt;
  return s.kept.back();
}

}  // namespace puna::engine
