// What is said when a computation gives values that are no numbers: whether a weight is none, which
// is looked up only then.
#pragma once

#include <atomic>
#include <string>

#include "base/error.h"
#include "base/task.h"
#include "engine/executor.h"
#include "formats/model_file.h"

namespace puna::engine {

// The error for `what`, as "The embedding of token 3 holds NaN". Reads all weights: kCorrupt naming
// the first tensor that holds NaN or an infinity, and where; kUnsupported where none does. `widest`
// says whether numerics and cache are those of the widest range already. Once `cancel` is set the
// weights are left alone.
base::Task<base::Error> explain_no_numbers(const formats::ModelFile& file, std::string what,
                                           bool widest, const std::atomic<bool>* cancel);

}  // namespace puna::engine
