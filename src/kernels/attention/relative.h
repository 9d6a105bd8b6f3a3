// Biases of scores by the distance between row and key, in buckets that widen with it, as T5 has
// them (Raffel et al. 2020, section 2.1): what attention.h takes, made of what a file holds.
#pragma once

#include <cstdint>
#include <vector>

namespace puna::kernels {

struct RelativeBuckets {
  uint32_t n = 0;      // half of them for keys up to the row, half for those behind it; 4 or more
  uint32_t reach = 0;  // keys so far away and further share the last bucket; more than n / 4
  bool operator==(const RelativeBuckets&) const = default;
};

// The bucket of a key at the row's position + distance. The first half of each half holds one
// distance a bucket, the other grows by powers up to the reach.
uint32_t relative_bucket(const RelativeBuckets& buckets, int64_t distance);

// table [buckets.n, n_heads], as files hold it -> [n_heads, 2 * reach + 1] by distance, from -reach
// on.
std::vector<float> relative_biases(const RelativeBuckets& buckets, uint32_t n_heads,
                                   const float* table);

}  // namespace puna::kernels
