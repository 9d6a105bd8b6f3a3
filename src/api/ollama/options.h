// The options of Ollama's dialect: how tokens are chosen, and how long texts may be.
// Source: Ollama's documentation of the Modelfile, "Valid parameters and values".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "kernels/sample/sampling.h"
#include "service/model.h"

namespace puna::api::ollama {

struct Options {
  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;  // num_predict
  std::optional<uint32_t> num_ctx;  // tokens of prompt and answer; nothing is loaded again for it
  std::optional<int64_t> num_keep;
  std::vector<std::string> stop;
};

// The rows beside sampling_fields(), before which they come.
std::span<const Field> option_fields();
// With those of sampling.
std::span<const Field> all_option_fields();

// Of `options` (null: none are given). Unlike the other dialects', top_p is 0.9 and min_p 0 where
// neither they nor the model's defaults are given. Numbers without a fraction are whole ones,
// however they are written. Errors: kInvalidArgument `option "seed" must be of type integer`, and
// for values out of their range; those of read_sampling().
base::Result<Options> read_options(const base::Json* options, const service::LoadedModel& model);

}  // namespace puna::api::ollama
