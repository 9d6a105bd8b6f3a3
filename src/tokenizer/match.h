// What both matchers of expressions (split.h, regex/regex.h) give, and how far they go.
#pragma once

#include <cstddef>
#include <cstdint>

namespace puna::tokenizer {

struct Match {
  size_t begin, end;  // bytes
};

// How often a matcher goes back to an earlier choice at one place, as Oniguruma's
// retry-limit-in-match. Oniguruma fails there; here the search ends, so that the rest of the text
// has no further match.
inline constexpr uint64_t kMostRetries = 10'000'000;

// The longest expression of a known model has less than 2,000 bytes.
inline constexpr size_t kLongestExpressionBytes = 65536;

}  // namespace puna::tokenizer
