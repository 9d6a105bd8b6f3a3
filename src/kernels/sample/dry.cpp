#include "kernels/sample/dry.h"

#include <algorithm>
#include <map>

namespace puna::kernels {
namespace {

bool ends_with(std::span<const int32_t> text, std::span<const int32_t> end) {
  return end.size() <= text.size() && std::ranges::equal(text.last(end.size()), end);
}

// Tokens behind the last breaker.
size_t behind_breakers(const DryParams& params, std::span<const int32_t> text) {
  for (size_t n = 0; n < text.size(); ++n) {
    const auto before = text.first(text.size() - n);
    for (const std::vector<int32_t>& breaker : params.breakers) {
      if (ends_with(before, breaker)) return n;
    }
  }
  return text.size();
}

// How many tokens the beginning of `text` and what begins at i have in common, for each i > 0 (the
// Z function; Gusfield 1997, section 1.4).
std::vector<size_t> common_beginnings(std::span<const int32_t> text) {
  std::vector<size_t> z(text.size());
  for (size_t i = 1, left = 0, right = 0; i < text.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < text.size() && text[z[i]] == text[i + z[i]]) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
  }
  return z;
}

float penalty(const DryParams& params, size_t length) {
  double out = params.multiplier;
  for (size_t n = params.allowed_length; n < length && params.base > 1 && out < kMostDry; ++n)
    out *= params.base;
  return static_cast<float>(std::min(out, kMostDry));
}

}  // namespace

std::vector<std::pair<int32_t, float>> dry_penalties(const DryParams& params,
                                                     std::span<const int32_t> text) {
  text = text.last(std::min<size_t>(text.size(), params.last));
  const size_t most = behind_breakers(params, text);
  if (most < params.allowed_length) return {};
  const std::vector<int32_t> backwards(text.rbegin(), text.rend());
  const std::vector<size_t> repeated = common_beginnings(backwards);
  std::map<int32_t, size_t> longest;  // by the token that would go on
  for (size_t i = 1; i < backwards.size(); ++i) {
    const size_t length = std::min(repeated[i], most);
    if (length == 0 || length < params.allowed_length) continue;
    size_t& before = longest[backwards[i - 1]];
    before = std::max(before, length);
  }
  std::vector<std::pair<int32_t, float>> out;
  for (const auto& [id, length] : longest) {
    if (id >= 0 &&
        std::ranges::find(params.breakers, std::vector<int32_t>(1, id)) == params.breakers.end())
      out.emplace_back(id, penalty(params, length));
  }
  return out;
}

}  // namespace puna::kernels
