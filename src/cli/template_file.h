// A chat template from a file, in place of the model's own.
#pragma once

#include <string>

#include "base/result.h"
#include "chat/template.h"

namespace puna::cli {

// Errors: kUsage (no path), kNotFound, kIo, kInvalidArgument (an empty or too large file), those of
// Template::parse; all name the file.
base::Result<chat::Template> read_template(const std::string& path);

}  // namespace puna::cli
