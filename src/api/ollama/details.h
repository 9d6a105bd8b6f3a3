// What Ollama's dialect says of a model wherever it is listed.
#pragma once

#include <string>
#include <string_view>

#include "api/model_source.h"
#include "base/json.h"
#include "service/model_card.h"

namespace puna::api::ollama {

// A name with its tag: "smollm2" is "smollm2:latest".
std::string tagged(std::string_view name);

// {parent_model, format, family, families, parameter_size, quantization_level, context_length,
//  embedding_length}
base::Json details_json(const service::ModelCard& card);
// "completion", "insert", "tools", "thinking", or "embedding".
base::Json capabilities_json(const service::ModelCard& card);

// Of a model as it is loaded, which may give less than its file has.
service::ModelCard card_of(const service::LoadedModel& model);

// When a model was made, from seconds since 1970.
std::string modified_at(int64_t unix_s);

}  // namespace puna::api::ollama
