// puna bench --types: the mat-vec of each weight type at one shape, against plain reads.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/model_flags.h"

namespace puna::cli {

// `types` is "all" or names separated by commas, `shape` "14336x4096" (weight rows x columns).
// Errors: kUsage for an unknown type or a bad shape; kUnsupported on the CPU device.
base::Result<int> bench_types(const ModelFlags& flags, const std::string& types,
                              const std::string& shape, bool json);

}  // namespace puna::cli
