// Writes a model as a GGUF file: what quantize and convert share.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/model_flags.h"
#include "formats/quantize.h"

namespace puna::cli {

// Writes a model to `output`, by the rules of io/output_file.h, and prints a line of what it is (on
// stderr where the output is stdout). Errors: those of opening the model and the output; kIo when
// the disk has no room for it; those of formats::quantize.
base::Result<void> write_model(const ModelFlags& model, const formats::QuantizeOptions& options,
                               const std::string& output);
// The encoder of pictures and sounds of a folder of weights, its matrices as they are. Errors: the
// same.
base::Result<void> write_encoder(const ModelFlags& model, const std::string& output);

}  // namespace puna::cli
