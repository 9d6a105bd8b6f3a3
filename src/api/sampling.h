// The fields of sampling that the dialects of OpenAI and llama.cpp's server share: names and
// meanings as there, ranges as the engine has them.
#pragma once

#include <span>

#include "api/fields.h"
#include "base/result.h"
#include "kernels/sample/sampling.h"

namespace puna::api {

std::span<const Field> sampling_fields();

// Of a body that was read by these fields; without a seed one is drawn. Errors: kInvalidArgument
// for what a row cannot say: logit_bias, samplers, and a number of mirostat between its versions.
base::Result<kernels::SamplingParams> read_sampling(const Body& body);

}  // namespace puna::api
