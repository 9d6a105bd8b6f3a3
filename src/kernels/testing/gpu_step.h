// A step for GPU tests: rows with a position and a sequence each, page tables scattered over the
// cache, as the step buffer and the page table for the GPU and as CpuStep for the references.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/common/step.h"

namespace puna::kernels::test {

struct TestStep {
  std::vector<int32_t> positions;
  std::vector<uint32_t> sequences;
  std::vector<uint32_t> pages;  // [n_sequences, pages_per_sequence]
  uint32_t pages_per_sequence = 1;
  uint32_t n_pages = 1;  // of the cache: every logical page has one of its own, in shuffled order
  uint32_t n_splits = 1;
  uint32_t split_tokens = kPageTokens;
  uint32_t n_singles = 0;
  std::vector<RowPlace> places;  // none: the step's buffer has none

  // at_least: pages of each sequence, so that cases of different lengths share their WGSL.
  TestStep(std::vector<int32_t> row_positions, std::vector<uint32_t> row_sequences,
           uint32_t at_least = 1)
      : positions(std::move(row_positions)), sequences(std::move(row_sequences)) {
    const auto longest =
        static_cast<uint32_t>(*std::max_element(positions.begin(), positions.end()));
    pages_per_sequence = std::max(at_least, longest / kPageTokens + 1);
    n_pages = pages_per_sequence * (*std::max_element(sequences.begin(), sequences.end()) + 1);
    pages.resize(n_pages);
    std::iota(pages.begin(), pages.end(), 0u);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(7));
  }

  uint32_t n_tokens() const { return static_cast<uint32_t>(positions.size()); }

  CpuStep cpu() const {
    return {n_tokens(),   positions.data(),   sequences.data(),
            pages.data(), pages_per_sequence, places.empty() ? nullptr : places.data()};
  }

  std::vector<uint32_t> words() const {
    std::vector<uint32_t> words(places.empty() ? kStepWords : kStepWordsOfMedia);
    if (!places.empty())
      std::memcpy(&words[kStepPlaces], places.data(), places.size() * sizeof(RowPlace));
    words[kStepTokenCount] = words[kStepOutputCount] = n_tokens();
    words[kStepSplitCount] = n_splits;
    words[kStepSplitTokens] = split_tokens;
    words[kStepSingleCount] = n_singles;
    std::copy(positions.begin(), positions.end(), words.begin() + kStepPositions);
    std::copy(sequences.begin(), sequences.end(), words.begin() + kStepSequences);
    return words;
  }
};

}  // namespace puna::kernels::test
