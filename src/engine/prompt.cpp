#include "engine/prompt.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace puna::engine {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// 31 bits of the digest and the row, below zero.
int32_t id_of(const Media& media, uint32_t row) {
  std::array<uint64_t, 4> words{};
  std::memcpy(words.data(), media.digest.data(), sizeof(words));
  uint64_t x = row;
  for (const uint64_t word : words) x = mixed(x ^ word);
  return -1 - static_cast<int32_t>(x >> 33);
}

}  // namespace

void Prompt::add(std::span<const int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void Prompt::add(std::shared_ptr<const Media> media) {
  for (uint32_t row = 0; row < media->n_rows; ++row) tokens_.push_back(id_of(*media, row));
  const size_t first = tokens_.size() - media->n_rows;
  spans_.push_back({first, std::move(media)});
}

const Prompt::Span* span_at(std::span<const Prompt::Span> spans, size_t place) {
  const auto after = std::ranges::upper_bound(spans, place, {}, &Prompt::Span::first);
  if (after == spans.begin() || place >= (after - 1)->end()) return nullptr;
  return &*(after - 1);
}

}  // namespace puna::engine
