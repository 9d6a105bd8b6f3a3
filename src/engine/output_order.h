// The outputs of a decode in the order in which a GPU has them: those that go on, so that the next
// step is made of the first ones; those that the GPU chooses a token for once; those whose token
// the host chooses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/executor.h"

namespace puna::engine {

struct OutputOrder {
  // Puts the outputs of `step` and their sampling in order.
  OutputOrder(plan::Step& step, std::vector<OutputSampling>& outputs) : of(outputs.size()) {
    const auto kind = [&](size_t i) { return outputs[i].params.on_host() ? 2 : outputs[i].once; };
    std::iota(of.begin(), of.end(), size_t{0});
    std::ranges::stable_sort(of, {}, kind);
    std::vector<OutputSampling> ordered;
    std::vector<uint32_t> rows;
    for (const size_t i : of) {
      n_go_on += kind(i) == 0;
      n_on_device += kind(i) != 2;
      positions.push_back(static_cast<uint32_t>(step.positions[step.output_rows[i]]) + 1);
      rows.push_back(step.output_rows[i]);
      ordered.push_back(std::move(outputs[i]));
    }
    step.output_rows = std::move(rows);
    outputs = std::move(ordered);
  }

  // What the first step chose, in the caller's order.
  std::vector<kernels::Chosen> of_caller(std::span<const kernels::Chosen> by_device,
                                         std::span<const kernels::Chosen> by_host) const {
    std::vector<kernels::Chosen> out(of.size());
    for (size_t i = 0; i < of.size(); ++i)
      out[of[i]] = i < n_on_device ? by_device[i] : by_host[i - n_on_device];
    return out;
  }

  bool once() const { return n_go_on < of.size(); }
  bool on_host() const { return n_on_device < of.size(); }

  std::vector<size_t> of;           // the caller's output, by place
  std::vector<uint32_t> positions;  // of the token that is chosen, by place
  uint32_t n_go_on = 0, n_on_device = 0;
};

}  // namespace puna::engine
