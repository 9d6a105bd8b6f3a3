// The self-test: every role and weight type on a device against its plain reference, on the user's
// own machine. Each role has its cases beside its kernels, <role>/<role>_check.cpp; checks.h lists
// them.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/selftest/check.h"

namespace puna::kernels {

struct SelftestResult {
  std::string role;   // "matmul"
  std::string type;   // weight or cache type and numerics: "q4_k fast"
  std::string shape;  // "64x512, 4 rows"
  double nmse = 0;    // against the plain reference; not finite when the output holds NaN
  double limit = 0;
  bool pass() const { return nmse <= limit; }
};

struct SelftestOptions {
  std::string filter;  // runs cases whose role or type contains this
  std::function<void(const SelftestResult&)> on_result;
  const std::atomic<bool>* cancel = nullptr;
};

// Runs all cases that the filter lets through. Errors: what a device refuses; kCancelled.
base::Result<std::vector<SelftestResult>> selftest(CheckedDevice device,
                                                   const SelftestOptions& options);

}  // namespace puna::kernels
