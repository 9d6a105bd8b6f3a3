// Blueprint: all that follows from a model's file and the options before anything is loaded: its
// graph, its context, and the cache for it.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "models/models.h"
#include "plan/graph.h"
#include "plan/step.h"

namespace puna::engine {

struct Blueprint {
  models::Config config;
  models::Pooling pooling = models::Pooling::kLast;
  plan::Graph graph;  // not fused
  plan::CacheConfig cache;
  uint32_t context = 0;
  bool recurrent = false;
  uint32_t window = 0;  // the widest, of layers whose pages are apart
  MediaKinds media;
};
// Errors: those of Engine::load that need no device.
base::Result<Blueprint> make_blueprint(const formats::ModelFile& file,
                                       const EngineOptions& options);

// Rows that a step with media has room for besides: the next tokens of the other texts.
uint32_t n_beside_media(const EngineOptions& options);

PlaceOptions place_options(const EngineOptions& options);

}  // namespace puna::engine
