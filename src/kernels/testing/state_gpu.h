// Roles that carry a state along (delta, scan, ssd) on an adapter, beside their plain loop: every
// shape and step, single rows, batches and chunks, with all of the adapter's features and with
// none.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/runs.h"

namespace puna::kernels::test {

// Case(shape, step) has what the role reads and computes; upload(gpu, case, args) binds the values
// that are the role's own. `describe` is the role, `reference` its plain loop.
template <class Case, class Args, class Shape, class Describe, class Reference, class Upload>
void check_state_role(const std::string& label, const std::vector<Shape>& shapes,
                      const Describe& describe, const Reference& reference, const Upload& upload) {
  for (const Features features : {Features::kAll, Features::kBaseline}) {
    const auto gpu = GpuHarness::open(features);
    if (!gpu) return;
    for (size_t s = 0; s < shapes.size(); ++s) {
      for (const TestStep& step : state_steps()) {
        for (const uint32_t max_rows : {1u, 4u, 512u}) {
          if (step.n_tokens() > max_rows) continue;
          CAPTURE(s);
          CAPTURE(max_rows);
          const Case c(shapes[s], step);
          Args args;
          args.label = label;
          args.step = gpu->upload(step.words());
          upload(*gpu, c, args);
          args.state = gpu->upload(c.state);
          args.y = gpu->output(c.n_y() * 4);
          args.shape = shapes[s];
          args.max_rows = max_rows;
          std::vector<KernelCall> calls;
          REQUIRE(describe(gpu->info(), args, calls));
          gpu->run(calls, {.n_tokens = step.n_tokens()});

          auto state = c.state;
          std::vector<float> y(c.n_y());
          reference(c.args(state, y));
          CHECK(nmse(gpu->read<float>(args.y), y) < 1e-10);
          CHECK(nmse(gpu->read<float>(args.state), state) < 1e-10);
        }
      }
    }
  }
}

}  // namespace puna::kernels::test
