// puna serve without a model: all that there are, each as it is asked for.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/serve/flags.h"
#include "manager/manager.h"

namespace puna::cli::serve {

// As flags have it: below 0 is for ever.
manager::Milliseconds milliseconds(double seconds);

// `given` are the flags of the command line. Errors: kUsage for presets that say what cannot be;
// kIo; those of finding the store.
base::Result<std::unique_ptr<manager::Manager>> manage(const ServeFlags& flags, GivenFlags given);

}  // namespace puna::cli::serve
