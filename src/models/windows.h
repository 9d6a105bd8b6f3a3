// Sliding windows: which layers see only the last tokens, or those around a token, and how many.
#pragma once

#include <optional>
#include <vector>

#include "models/models.h"

namespace puna::models {

// What an architecture's layers do where the file does not say.
struct UsualWindows {
  uint64_t tokens = 0;             // 0: no windows
  std::optional<uint64_t> period;  // the last of so many layers sees everything; none: no default
  bool first = false;              // it is the first of them
};

// Which layers have a window, by "ARCH.attention.sliding_window_pattern": a list of truth values or
// integers, or a period (0: all of them, 1: none), as converters have written it. Errors: kNotFound
// without the key and a usual period, kCorrupt naming it.
base::Result<std::vector<bool>> local_layers(const formats::ModelFile& file, const Config& c,
                                             const UsualWindows& usual);

// By layer how many tokens it sees, 0 = all: "ARCH.attention.sliding_window", one number or one for
// each layer, where local_layers() says so. Errors: kNotFound, kCorrupt naming the key.
base::Result<std::vector<uint32_t>> sliding_windows(const formats::ModelFile& file, const Config& c,
                                                    const UsualWindows& usual);

// The same of a model whose tokens see those after them too: the key's tokens are those on either
// side together, and a layer's window (plan::AttentionSpec) reaches half of them, and the token
// itself. Errors: also kUnsupported when the model is causal.
base::Result<std::vector<uint32_t>> windows_around(const formats::ModelFile& file, const Config& c,
                                                   const UsualWindows& usual);

}  // namespace puna::models
