// From the rows of a text to its embedding.
#pragma once

#include <cstdint>
#include <vector>

#include "models/models.h"

namespace puna::engine {

// Rows of a text that its embedding is made of: [begin, end).
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};
// A classifier (kRank) reads the last row of a causal model, else the first.
Span rows_of(models::Pooling pooling, bool causal, uint32_t n_tokens);

// rows [n, width] of rows_of() -> [width]: their mean, the one row there is, or that as
// probabilities when it has several scores (kRank); kNone gives the rows as they are.
std::vector<float> pooled(models::Pooling pooling, std::vector<float> rows, uint32_t width);

}  // namespace puna::engine
