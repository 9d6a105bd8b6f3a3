// Small text files that flags name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::cli {

// `what`: "chat template", for errors. Errors: kNotFound, kIo, kInvalidArgument (an empty or too
// large file); all name the file.
base::Result<std::string> read_text_file(std::string_view what, const std::string& path);

}  // namespace puna::cli
