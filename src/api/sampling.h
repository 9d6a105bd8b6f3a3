// The fields of sampling that the dialects of OpenAI and llama.cpp's server share: names and
// meanings as there, ranges as the engine has them.
#pragma once

#include <span>

#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "kernels/sample/sampling.h"
#include "service/model.h"

namespace puna::api {

std::span<const Field> sampling_fields();

// Of a body that was read by these fields; what it does not say is as the model's defaults have it.
// Errors: kInvalidArgument
// for what a row cannot say (logit_bias, samplers), and tokens outside the vocabulary; kUnsupported
// for texts (logit_bias, dry_sequence_breakers) where the model has no vocabulary.
base::Result<kernels::SamplingParams> read_sampling(const Body& body,
                                                    const service::LoadedModel& model);

// The stages that a field "samplers" names. Errors: kInvalidArgument.
base::Result<std::vector<kernels::Sampler>> read_samplers(const base::Json& value);

// The parameters under the names of the fields.
base::Json sampling_json(const kernels::SamplingParams& params);

}  // namespace puna::api
