// Runs another program and waits, while it can be cancelled.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace puna::store {

struct Finished {
  bool found = true;   // false: there is no such program
  int exit_code = 0;   // 128 + the signal when one ended it
  std::string output;  // the end of what it wrote to stdout and stderr
};

// `arguments` starts with the program, looked up in PATH; `environment` is added to this process's
// own. `poll` is called about ten times a second; its error ends the program (and all that it
// started) and is returned.
base::Result<Finished> run_process(
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment,
    const std::function<base::Result<void>()>& poll);

}  // namespace puna::store
