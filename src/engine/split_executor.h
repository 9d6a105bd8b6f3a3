// An executor over two: the first layers on one, the rest on the other.
#pragma once

#include <memory>

#include "engine/executor.h"

namespace puna::engine {

// `first` runs a graph that hands over n_handed floats a token, `rest` the graph that takes them.
std::unique_ptr<Executor> join(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest,
                               uint32_t n_handed);

}  // namespace puna::engine
