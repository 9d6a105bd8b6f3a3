// What checks of roles that know sequences share: steps of several sequences, and their states.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/step.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

// Several sequences over a scattered page table.
struct CheckRows {
  std::vector<int32_t> positions;
  std::vector<uint32_t> sequences;
  std::vector<uint32_t> pages;
  uint32_t pages_per_sequence;

  CheckRows(std::vector<int32_t> p, std::vector<uint32_t> s)
      : positions(std::move(p)), sequences(std::move(s)) {
    const int32_t last = *std::max_element(positions.begin(), positions.end());
    pages_per_sequence = static_cast<uint32_t>(last) / kPageTokens + 1;
    pages.resize(size_t{pages_per_sequence} *
                 (*std::max_element(sequences.begin(), sequences.end()) + 1));
    std::iota(pages.begin(), pages.end(), 0u);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(3));
  }
  uint32_t n() const { return static_cast<uint32_t>(positions.size()); }
  size_t n_sequences() const { return *std::max_element(sequences.begin(), sequences.end()) + 1; }
  CpuStep step() const {
    return {n(), positions.data(), sequences.data(), pages.data(), pages_per_sequence};
  }
};

inline base::Result<Slice> upload_pages(Workbench& bench, const CpuStep& step, const KvLayout& kv) {
  return bench.upload(step.pages, kv.n_pages);
}

// A row that goes on, a batch with a new sequence in it, a chunk.
inline std::vector<CheckRows> state_steps() {
  std::vector<int32_t> chunk(48);
  std::iota(chunk.begin(), chunk.end(), 2);
  return {CheckRows({7}, {0}), CheckRows({31, 0, 200, 2}, {0, 1, 2, 3}),
          CheckRows(chunk, std::vector<uint32_t>(48, 0))};
}

// The error of y and state together.
inline base::Result<void> record_state(Check& check, const char* role, std::string shape,
                                       const CheckRows& rows, std::vector<float> y,
                                       std::vector<float> expected, std::span<const float> state,
                                       std::span<const float> expected_state) {
  y.insert(y.end(), state.begin(), state.end());
  expected.insert(expected.end(), expected_state.begin(), expected_state.end());
  return check.record(role, "f32", fmt::format("{}, {} rows", shape, rows.n()), nmse(y, expected),
                      kF32Limit);
}

// Runs what describe(bench) makes of `args`, whose step, state and y are filled in here; reads
// the state and y back.
template <class Args, class DescribeCalls>
base::Result<void> run_with_state(gpu::Device& device, const CpuStep& step, uint64_t state_floats,
                                  float* state, float* y, uint32_t y_columns, Args& args,
                                  const DescribeCalls& describe) {
  Workbench bench(device);
  const uint64_t n_slots =
      uint64_t{*std::max_element(step.sequences, step.sequences + step.n_tokens)} + 1;
  const uint64_t n_y = uint64_t{step.n_tokens} * y_columns;
  args.max_rows = batch_class(step.n_tokens);
  PUNA_TRY(args.step, bench.step(step.n_tokens, &step));
  PUNA_TRY(args.state, bench.upload(static_cast<const float*>(state), n_slots * state_floats));
  PUNA_TRY(args.y, bench.output(n_y));
  PUNA_TRY(const std::vector<KernelCall> calls, describe(bench));
  PUNA_TRY(bench.run(calls, {step.n_tokens, step.n_tokens, 1}));
  PUNA_TRY(bench.read(args.state, state, n_slots * state_floats));
  return bench.read(args.y, y, n_y);
}

}  // namespace puna::kernels
