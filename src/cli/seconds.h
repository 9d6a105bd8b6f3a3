// Times of flags: how long a model stays, and the like.
#pragma once

#include <string_view>

#include "base/result.h"

namespace puna::cli {

// A number of seconds, or a duration ("5m"). Errors: kUsage.
base::Result<double> read_seconds(std::string_view option, std::string_view value);

}  // namespace puna::cli
