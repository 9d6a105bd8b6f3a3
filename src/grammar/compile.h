// Inside grammar/: from what a Builder has gathered to a Grammar.
#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/builder_parts.h"
#include "grammar/rules.h"

namespace puna::grammar {

// Errors: see Builder::build.
base::Result<std::shared_ptr<const Grammar>> compile(Builder::Parts& parts, Symbol start);

}  // namespace puna::grammar
