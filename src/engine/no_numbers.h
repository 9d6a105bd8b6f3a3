// Weights that are no numbers: what is said when a computation gives such values, and a look at all
// of them before anything is computed.
#pragma once

#include <atomic>
#include <string>

#include "base/error.h"
#include "base/result.h"
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

// kCorrupt naming the first tensor that holds NaN or an infinity, and where: all weights are read
// and decoded. kCancelled once `cancel` is set, those of reading.
base::Task<base::Result<void>> check_weights(const formats::ModelFile& file,
                                             const std::atomic<bool>* cancel);

}  // namespace puna::engine
