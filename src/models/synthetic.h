// Models of random weights in the shapes of known ones, made without a file: for measuring speed
// and memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/model_file.h"

namespace puna::models {

// "llama3.2-1b:q4_0": the tensors of the shape in the types that llama-quantize's mix of that name
// gives them; "pure:q2_k" gives every matrix one type. No vocabulary. Errors: kInvalidArgument
// listing what there is.
base::Result<formats::ModelFile> synthetic_model(std::string_view shape_and_type);

// Names of the shapes, for help texts.
std::string synthetic_shapes();

}  // namespace puna::models
