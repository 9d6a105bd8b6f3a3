// What both matchers of expressions (split.h, regex/regex.h) give, and how far they go.
#pragma once

#include <cstddef>
#include <cstdint>

namespace puna::tokenizer {

struct Match {
  size_t begin, end;  // bytes
};

// How much a matcher does at one place before it no longer goes back: steps of the expression, and
// characters that these pass, each as often as it comes to them. The search ends there, so that the
// rest of the text has no further match. Oniguruma fails after ten million retries, of which each
// may take many steps.
inline constexpr uint64_t kMostSteps = 20'000'000;

// The longest expression of a known model has less than 2,000 bytes.
inline constexpr size_t kLongestExpressionBytes = 65536;

}  // namespace puna::tokenizer
