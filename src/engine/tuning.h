// Tuning for a model: which of its kernels have knobs, and the search over all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kernels/tune/tune.h"

namespace puna::engine {

struct TuneOptions {
  double budget_ms = 60'000;  // for all kernels together; each default is measured in any case
  const std::atomic<bool>* cancel = nullptr;
  // Before each kernel: its name in the profile, how many are done, how many there are.
  std::function<void(const std::string& key, size_t done, size_t total)> on_progress;
};

struct TuneReport {
  std::vector<kernels::SearchResult> kernels;
  kernels::Profile profile;  // what is faster than the defaults, and which activations pay
};

// The kernels that the model would run on `device` with these engine options; no weights are read.
// Those that take most of a step come first. Errors: those of building and planning the model;
// kCancelled.
base::Result<TuneReport> tune(const formats::ModelFile& file, gpu::Device& device,
                              const EngineOptions& engine, const TuneOptions& options);

}  // namespace puna::engine
