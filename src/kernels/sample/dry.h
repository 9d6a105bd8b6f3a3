// DRY ("don't repeat yourself"; p-e-w, text-generation-webui PR 5677): what would make the end of a
// text repeat an earlier part of it for one token more is lowered, the more the longer the
// repetition is already.
//
// Where the last n tokens of the text stand in it earlier too, followed by t, the logit of t falls
// by multiplier * base ^ (n - allowed_length), for the largest such n, if that is at least
// allowed_length. Only the last `last` tokens count. A repetition does not reach over a breaker, a
// sequence of tokens such as the end of a line; a breaker of one token is never lowered itself.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/sample/sampling.h"

namespace puna::kernels {

// By how much the logits of which ids fall, ids rising. The power is taken by products in f64, so
// that it is the same everywhere; at most kMostDry.
constexpr double kMostDry = 1e30;
std::vector<std::pair<int32_t, float>> dry_penalties(const DryParams& params,
                                                     std::span<const int32_t> text);

}  // namespace puna::kernels
