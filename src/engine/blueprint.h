// Blueprint: all that follows from a model's file and the options before anything is loaded: its
// graph, its context, and the cache for it.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "models/models.h"
#include "plan/graph.h"
#include "plan/step.h"

namespace puna::engine {

// The most tokens of prompts that a step has; more than kernels::kMaxStepTokens pays where they
// fill at least half of it (bench/results/large-steps.txt).
constexpr uint32_t kLargeStepTokens = kernels::kStepRoom;

struct Blueprint {
  models::Config config;
  models::Pooling pooling = models::Pooling::kLast;
  plan::Graph graph;  // not fused
  plan::CacheConfig cache;
  uint32_t context = 0;
  uint32_t step_tokens = kernels::kMaxStepTokens;
  bool recurrent = false;
  uint32_t window = 0;  // the widest, of layers whose pages are apart
  MediaKinds media;
};
// Errors: those of Engine::load that need no device.
base::Result<Blueprint> make_blueprint(const formats::ModelFile& file,
                                       const EngineOptions& options);

// Rows that a step with media has room for besides: the next tokens of the other texts.
uint32_t n_beside_media(const EngineOptions& options);

// What to try before what `options` say: the same with large steps, where these may pay on a
// device. None: they do not, or are more than the options leave room for.
std::optional<Blueprint> with_large_steps(const formats::ModelFile& file, EngineOptions options,
                                          const gpu::DeviceInfo* device);
// How to place that: whole, on the one device.
PlaceOptions place_whole(const EngineOptions& options);

PlaceOptions place_options(const EngineOptions& options);

}  // namespace puna::engine
