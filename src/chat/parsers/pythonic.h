// The arguments of a call written as Python.
#pragma once

#include <optional>

#include "chat/parsers/literal.h"

namespace puna::chat {

// name=value, ... up to ")", which is read too. Arguments without a name get those of the tool's
// parameters in order, when `properties` is not null. None when it is no such text.
std::optional<base::Json> python_arguments(LiteralReader& reader, const base::Json* properties);

}  // namespace puna::chat
