// The one model of a server, where it may sleep while nobody asks for anything.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/serve/flags.h"
#include "manager/sleeper.h"

namespace puna::cli::serve {

// Loads what the flags name, of which many.sleep_after is one. Errors: those of loading.
base::Result<std::unique_ptr<manager::Sleeper>> load_to_sleep(const ServeFlags& flags);

}  // namespace puna::cli::serve
