// The process that puna serve starts for each of several models: it is told what to do on its stdin
// (manager/child_words.h), and answers requests for one model on a Unix socket.
#pragma once

#include <string_view>

#include "base/result.h"

namespace puna::cli {

// Not for people: it is no command of the program's help.
inline constexpr std::string_view kChildCommand = "serve-child";

// The value is the exit code. Errors: those of what it was told first.
base::Result<int> run_child();

}  // namespace puna::cli
