// Fusion: rewrites a graph into fewer, larger ops where the kernels have a fused form. The unfused
// graph stays valid input of everything below, so the two can be compared.
#pragma once

#include "plan/graph.h"

namespace puna::plan {

// Patterns, in order:
//   matmul, scale                               -> matmul with a scale
//   matmul, add onto the residual               -> matmul with Epilogue::kAdd
//   matmul, softcap                             -> matmul with Epilogue::kSoftcap
//   norm (post), add onto the residual [, norm] -> one norm with residual
//   norm with residual alone, scale by a weight -> norm with a scale
//   add onto the residual, norm                 -> norm with residual
Graph fuse(Graph graph);

}  // namespace puna::plan
