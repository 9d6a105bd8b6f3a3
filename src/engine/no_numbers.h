// Weights that are no numbers: what is said when a computation gives such values, and a look at all
// of them before anything is computed.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"
#include "formats/model_file.h"

namespace puna::engine {

// kCorrupt naming the first tensor that holds NaN or an infinity, and where: all weights are read
// and decoded. kCancelled once `cancel` is set, those of reading.
base::Task<base::Result<void>> check_weights(const formats::ModelFile& file,
                                             const std::atomic<bool>* cancel);

// Says why a computation with a model gives values that are no numbers.
class NoNumbers {
 public:
  // The error for `what`, as "The embedding of token 3 holds NaN": kCorrupt naming the first tensor
  // that holds NaN or an infinity, and where; kUnsupported where none does. `widest` says whether
  // numerics and cache are those of the widest range already. All weights are read for it, which
  // takes long and stops whatever else the thread does, so what was found is remembered. Once
  // `cancel` is set they are left alone, and the error is kCancelled; a read that fails is an error
  // too, and the next call tries again.
  base::Task<base::Error> explain(const formats::ModelFile& file, std::string what, bool widest,
                                  const std::atomic<bool>* cancel);

 private:
  std::optional<base::Result<void>> checked_;  // once all weights were read, or a bad one was found
};

}  // namespace puna::engine
