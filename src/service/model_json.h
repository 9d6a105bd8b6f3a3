// Metadata and tensors of a model's file as JSON, for those who look at a model.
#pragma once

#include "base/json.h"
#include "formats/model_file.h"

namespace puna::service {

// By their keys, with general.parameter_count; the vocabulary is not in it. Lists are null unless
// they are short or all is asked for.
base::Json metadata_json(const formats::ModelFile& file, bool all);
// [{name, type, shape}]
base::Json tensors_json(const formats::ModelFile& file);

}  // namespace puna::service
