// What a model is and what it takes, in a few lines for people, read off its graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/models.h"

namespace puna::models {

// ("attention", "16 heads over 8 KV heads of 128 elements"), ...; the graph may be fused or not.
std::vector<std::pair<std::string, std::string>> summary(const Config& config,
                                                         const plan::Graph& graph);

}  // namespace puna::models
