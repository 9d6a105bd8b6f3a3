// How a model among several is loaded and served: what the command line says of all of them, and
// what is set for it alone. It is read where a server lists its models, and again in the process
// that runs one (child.cpp).
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "cli/serve/flags.h"
#include "manager/in_process.h"

namespace puna::cli::serve {

// `preset` in the order in which it counts. Errors: those of read_model_flags().
base::Result<manager::Recipe> recipe_of(const GivenFlags& given, const GivenFlags& preset);

// [["--ctx-size", "4096"], ...]
base::Json to_json(const GivenFlags& given);
// Errors: kInvalidArgument for what that has not made.
base::Result<GivenFlags> read_given(const base::Json& json);

}  // namespace puna::cli::serve
