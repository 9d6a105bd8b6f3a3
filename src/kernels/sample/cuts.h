// The stages of a choice that drop tokens, over the keys (arithmetic.h) of those that are left.
// Each keeps the keys between two of them, so tokens of equal l stay or go together, and ids do not
// matter. sampling.h defines them. `keys` hold no NaN, the largest is finite, and is left unless
// said otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace puna::kernels::sampling {

using Keys = std::vector<uint32_t>;

void keep_top_k(Keys& keys, uint32_t k);
// Fractions are in units of 2^-32.
void keep_top_p(Keys& keys, uint32_t p);
void keep_typical(Keys& keys, uint32_t p);
// Down to l = top + log_min_p.
void keep_above(Keys& keys, float log_min_p);
// The largest goes where another one has that probability too.
void drop_top_choices(Keys& keys, uint32_t threshold);

// n standard deviations of the finite ones of these keys, in l. Taken in f64 in their order, so
// that callers pass them by id.
float deviations(std::span<const uint32_t> keys, float n);

// What weights and distances of keys sum up to: the total weight, and the mean distance from the
// largest in units of 2^-20.
uint64_t total_weight(std::span<const uint32_t> keys, uint32_t top);
uint64_t mean_distance_q20(std::span<const uint32_t> keys, uint32_t top);

}  // namespace puna::kernels::sampling
