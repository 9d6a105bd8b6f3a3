// What Ollama's dialect says of a model wherever it is listed.
#pragma once

#include <string>
#include <string_view>

#include "api/model_source.h"
#include "base/json.h"

namespace puna::api::ollama {

// A name with its tag: "smollm2" is "smollm2:latest".
std::string tagged(std::string_view name);

// {parent_model, format, family, families, parameter_size, quantization_level, context_length,
//  embedding_length}
base::Json details_json(const service::LoadedModel& model);

// "completion", "insert", "tools", "thinking", or "embedding".
base::Json capabilities_json(const service::LoadedModel& model);

uint64_t n_parameters(const service::LoadedModel& model);
// "361.82M", "3.2B".
std::string parameter_size(uint64_t n_parameters);

// When the model was made.
std::string modified_at(const ServedModel& model);

}  // namespace puna::api::ollama
