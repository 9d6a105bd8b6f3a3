// TokenFilter: which tokens may come next in one text, as a grammar or a schema has it. The
// scheduler asks for what is allowed before each token and says which one was chosen; what is
// forced is not sampled, but evaluated with the token before it in one step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace puna::engine {

// On the thread of the engine. What cannot be filtered by is refused where a filter is made; where
// it is known only later, nothing is allowed any more.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;

  // A bit for each token of the vocabulary, the lowest id in the lowest bit of the first word:
  // ceil(vocab / 32) words, bits beyond the vocabulary 0. End tokens are bits like others. None:
  // all tokens. As it was until the next take() or undo().
  virtual std::optional<std::span<const uint32_t>> allowed() = 0;
  // Ids that have to come next, one after the other; empty where there is a choice. They are
  // allowed ones, and take() is told of them too.
  virtual std::vector<int32_t> forced() = 0;
  virtual void take(int32_t id) = 0;
  // Takes back the last n tokens that were taken.
  virtual void undo(uint32_t n) = 0;
  // A filter for another text that goes on from here.
  virtual std::unique_ptr<TokenFilter> fork() const = 0;
  // Whether the text is complete as it is, and whether nothing may follow it.
  virtual bool may_end() const = 0;
  virtual bool done() const = 0;
  // Where nothing is allowed and the text may not end: the error of the text, if there is more to
  // say than that.
  virtual std::optional<base::Error> error() const { return {}; }
};

// Words of the bits of a vocabulary.
constexpr size_t filter_words(uint32_t vocab) { return (size_t{vocab} + 31) / 32; }

// Whether any token is allowed that is not among `ruled_out`, ids of which each stands there once.
inline bool allows_any(const std::optional<std::span<const uint32_t>>& allowed,
                       std::span<const int32_t> ruled_out = {}) {
  if (!allowed) return true;
  const auto n_ruled_out = std::ranges::count_if(ruled_out, [&](int32_t id) {
    const auto at = static_cast<size_t>(id);
    return ((*allowed)[at / 32] >> at % 32 & 1) != 0;
  });
  ptrdiff_t n = 0;
  return std::ranges::any_of(*allowed, [&](uint32_t word) {
    n += std::popcount(word);
    return n > n_ruled_out;
  });
}

}  // namespace puna::engine
