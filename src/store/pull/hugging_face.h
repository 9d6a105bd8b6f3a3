// Models of Hugging Face's hub by repository and quantization: hf.co/USER/REPO:QUANT.
#pragma once

#include "base/result.h"
#include "store/name.h"
#include "store/pull/fetch.h"

namespace puna::store {

bool is_hugging_face(const ModelName& name);

// The parts of the model and the projector beside it, of the revision that "main" is now. HF_TOKEN
// opens what is gated, HF_ENDPOINT names another hub. Errors: kNotFound, naming the quantizations
// there are; kNetwork; kCorrupt.
base::Result<PullPlan> plan_hugging_face(const ModelName& name, Reporter& reporter);

}  // namespace puna::store
