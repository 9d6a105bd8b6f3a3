// Prompts of tests: ids that differ from place to place and from seed to seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace puna::engine::test {

/// `n` ids below `vocab`; another seed gives another text from the first token on.
inline std::vector<int32_t> test_prompt(size_t n, size_t seed = 0, size_t vocab = 96) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>((i * 37 + seed * 13 + i / 96 * 5 + 11) % vocab));
  return out;
}

}  // namespace puna::engine::test
