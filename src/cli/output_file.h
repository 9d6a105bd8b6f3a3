// The file that a command writes, by the rules of io/output_file.h.
#pragma once

#include <memory>

#include "base/result.h"
#include "io/output_file.h"

namespace puna::cli {

// As io::open_output; from here on a reader that went away and a limit on the size of files are
// errors of a write, not signals that end the process.
base::Result<std::unique_ptr<io::ByteSink>> create_output(const io::OutputPlace& place);

}  // namespace puna::cli
