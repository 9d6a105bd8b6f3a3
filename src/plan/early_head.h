// Where the head of a graph begins: as early as rows no longer meet, so that the last layer's FFN
// runs for the rows whose logits are wanted and no others.
#pragma once

#include "plan/graph.h"

namespace puna::plan {

// The graph with the gather of its outputs before the last run of ops that work on each row by
// itself and need nothing of the ops before but `hidden`; unchanged where no product is among them.
// For graphs whose outputs are few: a head goes over 16 rows at a time. To be called before fuse().
Graph begin_head_early(Graph graph);

}  // namespace puna::plan
