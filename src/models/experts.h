// Mixtures of experts by the keys and tensor names that GGUF gives them.
#pragma once

#include "models/blocks.h"

namespace puna::models {

// What `ARCH.expert_*` keys say about the router; where they say nothing, what `usual` has.
// Errors: kCorrupt, kUnsupported naming the key.
base::Result<kernels::RouteParams> read_route(const formats::ModelFile& file, const Config& c,
                                              kernels::RouteParams usual);

// The routed experts of a layer: h [rows, hidden] -> the same shape. `logits`: of the router, where
// they are not of h.
plan::Value experts(plan::Builder& b, uint32_t layer, plan::Value h,
                    const kernels::RouteParams& route,
                    kernels::Epilogue activation = kernels::Epilogue::kSwiGlu,
                    std::optional<plan::Value> logits = {});

// The same of experts without a gate, whose activation is GELU.
plan::Value plain_experts(plan::Builder& b, uint32_t layer, plan::Value h,
                          const kernels::RouteParams& route);

// The expert that every row goes through besides, of tensors `ffn_*_shexp`.
plan::Value shared_expert(plan::Builder& b, uint32_t layer, plan::Value h);
// The same times sigmoid of `ffn_gate_inp_shexp` h.
plan::Value gated_shared_expert(plan::Builder& b, uint32_t layer, plan::Value h);

}  // namespace puna::models
