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

// How the row at a place stands to these spans.
kernels::RowPlace place_of(std::span<const Prompt::Span> spans, size_t place, bool windowed) {
  const auto behind = std::ranges::upper_bound(spans, place, {}, &Prompt::Span::first);
  if (behind == spans.begin()) return {};
  const Prompt::Span& span = *(behind - 1);
  kernels::RowPlace out;
  out.next = span.turn;
  out.turns.fill(span.turn);
  if (place >= span.end()) return out;
  const auto row = static_cast<uint32_t>(place - span.first);
  const int32_t before = behind - 1 == spans.begin() ? 0 : (behind - 2)->turn;
  out.turns.fill(before);
  if (const uint32_t columns = span.media->grid_columns; columns > 0) {
    // All at one time: the position that the first would have as a word.
    const int32_t time = before - static_cast<int32_t>(row);
    out.turns = {time, time + static_cast<int32_t>(row / columns),
                 time + static_cast<int32_t>(row % columns)};
  }
  if (span.media->both_ways) {
    out.before = windowed ? 0 : row;
    out.after = span.media->n_rows - 1 - row;
  }
  return out;
}

}  // namespace

void Prompt::add(std::span<const int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void Prompt::add(std::shared_ptr<const Media> media) {
  const uint32_t n = media->n_rows;
  for (uint32_t row = 0; row < n; ++row) tokens_.push_back(id_of(*media, row));
  const uint32_t columns = media->grid_columns;
  const uint32_t n_positions = columns > 0 ? std::max(columns, n / columns) : n;
  const int32_t before = spans_.empty() ? 0 : spans_.back().turn;
  spans_.push_back({tokens_.size() - n, std::move(media),
                    before + static_cast<int32_t>(n_positions) - static_cast<int32_t>(n)});
}

const Prompt::Span* span_at(std::span<const Prompt::Span> spans, size_t place) {
  const auto after = std::ranges::upper_bound(spans, place, {}, &Prompt::Span::first);
  if (after == spans.begin() || place >= (after - 1)->end()) return nullptr;
  return &*(after - 1);
}

size_t whole_begin(std::span<const Prompt::Span> spans, size_t place) {
  const Prompt::Span* span = span_at(spans, place);
  return span && span->media->both_ways ? span->first : place;
}

size_t whole_end(std::span<const Prompt::Span> spans, size_t from, size_t end) {
  const size_t before = whole_begin(spans, end);
  return before > from ? before : before == end ? end : span_at(spans, end)->end();
}

void add_rows(plan::Step& step, uint32_t sequence, std::span<const int32_t> tokens, size_t first,
              std::span<const Prompt::Span> spans, bool windowed) {
  const size_t begin = step.n_tokens();
  step.add(sequence, tokens, static_cast<uint32_t>(first));
  if (spans.empty() && step.places.empty()) return;
  step.places.resize(step.n_tokens());
  if (spans.empty()) return;
  for (size_t i = 0; i < tokens.size(); ++i) {
    step.places[begin + i] = place_of(spans, first + i, windowed);
    if (tokens[i] >= 0) continue;
    const Prompt::Span& span = *span_at(spans, first + i);
    const size_t width = span.media->width();
    const auto values =
        std::span(span.media->rows).subspan((first + i - span.first) * width, width);
    step.tokens[begin + i] = -1 - static_cast<int32_t>(step.media.size() / width);
    step.media.insert(step.media.end(), values.begin(), values.end());
  }
}

}  // namespace puna::engine
