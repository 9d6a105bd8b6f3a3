// Writes a model as a GGUF file: what quantize and convert share.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/terminal.h"
#include "formats/quantize.h"

namespace puna::cli {

// Names of the mixes that can be written, for help texts.
std::string writable_mixes();

// "q4_k_m", "pure:q4_k". Errors: kUsage.
base::Result<formats::QuantizeOptions> parse_type(std::string_view text);

// Writes `in` to `output`, which appears once it is complete, and prints a line of what it is.
// Errors: kUsage when the output is the input or a folder; kIo, also when the disk has no room for
// it; those of formats::quantize.
base::Result<void> write_model(formats::ModelFile& in, const formats::QuantizeOptions& options,
                               const std::string& output, int n_threads, ProgressBar& bar);

}  // namespace puna::cli
