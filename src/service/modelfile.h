// What the Modelfile of a stored model says of requests: it comes before what the model's file says
// and what whoever opens it has as defaults, and behind what a request says itself.
#pragma once

#include "engine/engine.h"
#include "service/model.h"
#include "store/modelfile.h"

namespace puna::service {

// Its template takes the place of the model's, its system message and messages stand before each
// conversation, its parameters and stop texts become the defaults. What cannot be used, as a store
// of another program may have it, is left out with a warning.
void apply(const store::Modelfile& modelfile, LoadedModel& model);

// The parameters that say how a model is loaded: num_ctx (at most `trained` tokens, unless that is
// 0), num_thread, and num_gpu 0 for the CPU; as far as nothing else says so.
void apply(const store::Modelfile& modelfile, uint64_t trained, engine::EngineOptions& options);

}  // namespace puna::service
